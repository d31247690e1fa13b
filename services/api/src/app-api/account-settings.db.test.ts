import { setSpending } from '@plumbline/metering/spending'
import { openBrowser } from '@plumbline/testkit/api/browser'
import { openApiHarness, type ApiHarness } from '@plumbline/testkit/api/harness'
import { afterAll, beforeAll, expect, test } from 'vitest'

let api: ApiHarness
beforeAll(async () => {
  api = await openApiHarness({})
})
afterAll(() => api[Symbol.asyncDispose]())

test('an account that may spend nothing today keeps that when its settings are saved', async () => {
  const owner = openBrowser(api)
  const form = { name: 'Ada', email: 'ada@company.example', password: 'tidal lantern cactus seven' }
  expect((await owner.app('signUp', form)).status).toBe(200)
  const accountId = (await owner.app('readSession')).json.account?.id ?? ''
  await setSpending(api.db, { actor: 'operator', accountId, bounds: { dailyLimit: 0 } })
  const { id: _, ...settings } = (await owner.app('readAccountSettings')).json
  expect(settings.daily_spending_limit).toBe(0)
  const saved = await owner.app('changeAccount', { ...settings, name: 'Ada and Co' })
  expect([saved.status, saved.json]).toMatchObject([
    200,
    { name: 'Ada and Co', daily_spending_limit: 0 },
  ])
  expect((await owner.app('changeAccount', { low_credit_mark: 0 })).status).toBe(400)
})
