import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { erasureView } from '@plumbline/contract/erasure'
import { webhookView } from '@plumbline/contract/webhook'
import type { Db } from '@plumbline/db/database'
import { changePlan, grantPack } from '@plumbline/metering/grant'
import type { PageOf, TestUser } from '../integration/web-seed.ts'

// Sample data for screenshots: an account after some weeks of use.

const CONTACTS = fileURLToPath(new URL('../demo/contacts.csv', import.meta.url))

/** Pages that show one batch or one webhook of the account. */
export interface SamplePages {
  readonly ready: PageOf
  readonly others: readonly PageOf[]
}

/**
 * Gives an account a plan, weeks of use, and a batch in each state; the longest takes some minutes.
 */
export async function fillSample(db: Db, user: TestUser): Promise<SamplePages> {
  await changePlan(db, user.accountId, 'pro')
  await grantPack(db, user.accountId, 'growth', 'sample')
  await addUsage(db, user.accountId)
  const { id: erasure } = erasureView.parse(
    await user.send('POST', '/v1/erase', { email: 'nobody@example.com' }),
  )
  const contacts = (await readFile(CONTACTS, 'utf8')).trimEnd().split('\n')
  const upload = async (name: string, rows: number, product = 'email'): Promise<string> => {
    const text = `${contacts.slice(0, rows + 1).join('\n')}\n`
    const id = await user.upload({ fileName: `${name}.csv`, text, product })
    if (product !== 'email') {
      await user.until(id, 'ready')
      await user.send('PATCH', `/v1/batches/${id}`, { default_country: 'DE' })
    }
    return id
  }
  const start = async (id: string): Promise<void> => {
    await user.until(id, 'ready')
    await user.send('POST', `/v1/batches/${id}/start`)
  }
  const done = await upload('Trade fair visitors', 150, 'fraud-signals')
  const dropped = await upload('Webinar sign-ups', 300)
  const failed = await user.upload({
    fileName: 'Old export.csv',
    text: 'Email\na\0@example.com\n',
  })
  await start(done)
  await user.until(done, 'completed')
  await start(dropped)
  await user.send('POST', `/v1/batches/${dropped}/cancel`)
  await user.until(dropped, 'canceled')
  await user.until(failed, 'failed')
  const ready = await upload('Newsletter subscribers', 400)
  await user.until(ready, 'ready')
  const running = await upload('All contacts', 2_000, 'contact-intel')
  await start(running)
  await user.send('POST', '/app/api/keys', { mode: 'live' })
  await user.send('POST', '/app/api/keys', { mode: 'test' })
  await user.send('POST', '/app/api/invitations', { email: 'grace@people.test', role: 'viewer' })
  const { id: webhook } = webhookView.loose().parse(
    await user.send('POST', '/v1/webhooks', {
      url: 'https://example.com/hooks/plumbline',
      events: ['batch.completed', 'batch.failed'],
    }),
  )
  return {
    ready: { path: `/app/batches/new?id=${ready}`, heading: 'New batch' },
    others: [
      { path: `/app/batches/${running}`, heading: 'All contacts.csv' },
      { path: `/app/batches/${done}`, heading: 'Trade fair visitors.csv' },
      { path: `/app/batches/${dropped}`, heading: 'Webinar sign-ups.csv' },
      { path: `/app/batches/${failed}`, heading: 'Old export.csv' },
      { path: `/app/settings/webhooks/${webhook}`, heading: 'Webhook' },
      { path: `/app/settings/erase?receipt=${erasure}`, heading: 'Erase values' },
    ],
  }
}

/** Usage of a shop from Monday to Friday, with an offset for each day and product. */
async function addUsage(db: Db, accountId: string): Promise<void> {
  await db.pool.query(
    `insert into credit_usage (account_id, day, product, source, operations, credits)
     select $1, day, product, source, 40 + salt % 160, 40 + salt % 160
     from generate_series(current_date - 24, current_date - 1, interval '1 day') day,
       (values ('email', 'batch'), ('phone', 'api'), ('fraud-signals', 'api')) use (product, source),
       lateral (select abs(hashtext(product || day::text))) hash (salt)
     where extract(isodow from day) < 6`,
    [accountId],
  )
}
