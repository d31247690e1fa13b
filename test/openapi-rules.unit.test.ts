import { openApiDocument } from '@plumbline/contract/openapi'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { expect, test } from 'vitest'

test("the description passes Redocly's recommended rules without error or warning", async () => {
  const config = await createConfig({ extends: ['recommended'] })
  const source = JSON.stringify(openApiDocument('A table.'))
  const problems = await lintFromString({ source, config, absoluteRef: '/openapi.json' })
  expect(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([])
  const broken = source.replace('"operationId":"readAccount",', '')
  const found = await lintFromString({ source: broken, config, absoluteRef: '/openapi.json' })
  expect(found.map(({ ruleId }) => ruleId)).toContain('operation-operationId')
})
