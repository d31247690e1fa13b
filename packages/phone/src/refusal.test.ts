import { expect, test } from 'vitest'
import { ask, createHlrFixture, json, MOBILE } from './hlr-fixture.ts'
import { createPhoneEngine } from './engine.ts'
import { pauseKey } from '@plumbline/ports/provider-status'

test.each([4, 9, 19])(
  'the reason why Vonage refuses the account (%i) is reported without its text, which may contain key and number',
  async (status) => {
    const fixture = createHlrFixture()
    const warned: string[] = []
    const words = `Bad credentials: operator-key for ${MOBILE}`
    await using engine = await createPhoneEngine({
      ...fixture,
      providers: [{ name: 'vonage', url: null, key: 'operator-key', secret: 's' }],
      fetch: async () => json({ status, status_message: words, error_text: words }),
      log: { warn: (_, message) => void warned.push(message) },
    })
    const answers = await ask(engine, [MOBILE])
    expect(answers).toMatchObject([{ reason: 'hlr_paused' }])
    const told = [warned, await fixture.memory.get([pauseKey('vonage')]), await engine.health()]
    expect(JSON.stringify(told)).toContain(`status ${status}`)
    expect(JSON.stringify([told, answers])).not.toMatch(/operator-key|Bad cred/)
  },
)
