import { registerHooks } from 'node:module'
import { setOperator } from '@plumbline/db/people/users'
import { openBrowser } from '@plumbline/testkit/api/browser'
import { openApiHarness } from '@plumbline/testkit/api/harness'
import { startRedis } from '@plumbline/testkit/redis'
import { WITHOUT_REDIS } from '@plumbline/testkit/without-redis'
import { expect, test } from 'vitest'

// Each test file has its own process, so that the packages of the board have not been loaded before.

/** Makes Node find no packages of the board, as if they were not installed, until disposed. */
function hideBoardPackages(): Disposable {
  const hooks = registerHooks({
    resolve: (specifier, context, next) => {
      const name = /@bull-board\/[\w-]+/.exec(specifier)?.[0]
      if (name === undefined) return next(specifier, context)
      return next(name, { ...context, parentURL: 'file:///nowhere/index.js' })
    },
  })
  return { [Symbol.dispose]: () => hooks.deregister() }
}

test.skipIf(WITHOUT_REDIS)(
  'without the packages of the board, its page says how to install them',
  async () => {
    await using stack = new AsyncDisposableStack()
    stack.use(hideBoardPackages())
    const redis = await startRedis()
    if (redis === null) throw new Error('redis-server is not installed')
    stack.defer(() => redis.stop())
    const api = stack.use(await openApiHarness({ REDIS_URL: redis.url }))
    const browser = openBrowser(api)
    const form = { name: 'Ada', email: 'ada@one.example', password: 'tidal lantern cactus seven' }
    await browser.app('signUp', form)
    const look = async (): Promise<readonly [number, string]> => {
      const response = await fetch(`${api.adminUrl}/operator/board`, {
        headers: { cookie: browser.cookie, 'sec-fetch-site': 'same-origin' },
      })
      return [response.status, await response.text()]
    }
    // Only operators may see this page.
    expect(await look()).toEqual([403, expect.not.stringContaining('--omit=optional')])
    const { user } = (await browser.app('readSession')).json
    await api.db.kysely.transaction().execute((tx) => setOperator(tx, user?.id ?? '', true))
    for (let times = 0; times < 2; times++) {
      expect(await look()).toEqual([200, expect.stringContaining('without --omit=optional')])
    }
  },
)
