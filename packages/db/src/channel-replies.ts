import type { Channel, ReplyChannel } from '@plumbline/ports/channel'
import type { Db } from './database.ts'

/** A payload must be shorter than 8,000 bytes with the number before it. Source: Postgres, NOTIFY. */
const MAX_ANNOUNCED_BYTES = 7_900

/**
 * Letters in an unlogged table, announced by the statement that keeps them; one too long for a
 * payload is announced by its number and fetched from the table.
 */
export function createPostgresReplyChannel(db: Db, channel: Channel): ReplyChannel {
  return {
    send: (box, letters) => post(db, box, letters),
    async listen(box, onLetter) {
      let heard: number[] = []
      let fetching: Promise<void> | undefined
      async function collect(): Promise<void> {
        const ids = heard
        heard = []
        for (const letter of await take(db, box, ids)) onLetter(letter)
      }
      /** One fetch at a time takes all that came; one that fails leaves the letters to `fetchMissed`. */
      function fetchSoon(): void {
        fetching = (fetching ?? Promise.resolve()).then(collect).catch(() => {})
      }
      const subscription = await channel.subscribe(box, (message) => {
        const end = message.indexOf(' ')
        if (end === -1) return fetchSoon()
        heard.push(Number(message.slice(0, end)))
        onLetter(message.slice(end + 1))
      })
      return {
        fetchMissed: collect,
        async acknowledge() {
          const ids = heard
          heard = []
          if (ids.length > 0) await drop(db, box, ids)
        },
        async [Symbol.asyncDispose]() {
          await subscription[Symbol.asyncDispose]()
          await fetching
          await db.pool.query(`delete from live_replies where reply_to = $1`, [box])
        },
      }
    },
  }
}

async function post(db: Db, box: string, letters: readonly string[]): Promise<void> {
  await db.pool.query({
    name: 'live-replies-post',
    text: `with posted as (
             insert into live_replies (reply_to, body) select $1, unnest($2::text[]) returning id, body)
           select pg_notify($1, case when octet_length(body) <= ${MAX_ANNOUNCED_BYTES}
                                     then id || ' ' || body else id::text end)
             from posted order by id`,
    values: [box, letters],
  })
}

/** Deletes every letter of the box, and answers with those that were not heard. */
async function take(db: Db, box: string, heard: readonly number[]): Promise<readonly string[]> {
  const { rows } = await db.pool.query<{ body: string | null }>({
    name: 'live-replies-take',
    text: `delete from live_replies where reply_to = $1
           returning case when id = any($2::bigint[]) then null else body end as body`,
    values: [box, heard],
  })
  return rows.flatMap(({ body }) => (body === null ? [] : [body]))
}

async function drop(db: Db, box: string, heard: readonly number[]): Promise<void> {
  await db.pool.query({
    name: 'live-replies-drop',
    text: `delete from live_replies where reply_to = $1 and id = any($2::bigint[])`,
    values: [box, heard],
  })
}
