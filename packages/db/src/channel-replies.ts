import { withTimeOut } from '@plumbline/concurrency/time-out'
import type { Channel, ReplyChannel } from '@plumbline/ports/channel'
import type pg from 'pg'
import { CLOSE_MS } from './channel.ts'
import { queryWithin, type Db } from './database.ts'
import { retryStatement } from './retry.ts'

/**
 * Maximum bytes of an announced reply: with its number, a payload must be shorter than 8,000 bytes.
 * Source: Postgres, NOTIFY.
 */
const MAX_ANNOUNCED_BYTES = 7_900

/**
 * Milliseconds without a reply after which a connection is abandoned: a question whose worker seems
 * silent is sent again after 3.5 seconds, and all replies of a worker's check wait for the one
 * before.
 */
const ANSWER_MS = 2_000

/**
 * Live replies in an unlogged table, announced with NOTIFY by the statement that inserts them; one
 * too long for a payload is announced by its number and fetched from the table. A statement without
 * a reply for `answerMs`, default two seconds, fails, and its connection is closed; one that sends
 * replies is tried again on another, so that they may be delivered twice.
 */
export function createPostgresReplyChannel(
  db: Db,
  channel: Channel,
  answerMs: number = ANSWER_MS,
): ReplyChannel {
  const run: RunStatement = (statement) => queryWithin(db, statement, answerMs)
  return {
    send: (replyTo, replies) => retryStatement(() => post(run, replyTo, replies)),
    async listen(replyTo, onReply) {
      let received: number[] = []
      let fetching: Promise<void> | undefined
      async function fetchMissed(): Promise<void> {
        const ids = received
        received = []
        for (const reply of await take(run, replyTo, ids)) onReply(reply)
      }
      /**
       * One fetch at a time takes all that have arrived; after a failed one the replies are left to
       * `fetchMissed`.
       */
      function fetchSoon(): void {
        fetching = (fetching ?? Promise.resolve()).then(fetchMissed).catch(() => {})
      }
      const subscription = await channel.subscribe(replyTo, (message) => {
        const end = message.indexOf(' ')
        if (end === -1) return fetchSoon()
        received.push(Number(message.slice(0, end)))
        onReply(message.slice(end + 1))
      })
      return {
        fetchMissed,
        async acknowledge() {
          const ids = received
          received = []
          if (ids.length > 0) await drop(run, replyTo, ids)
        },
        async [Symbol.asyncDispose]() {
          const close = async (): Promise<void> => {
            await subscription[Symbol.asyncDispose]()
            await fetching
            await run({
              text: `delete from live_replies where reply_to = $1`,
              values: [replyTo],
            })
          }
          // Replies that remain because a server does not reply are swept after a minute.
          await withTimeOut(CLOSE_MS, close()).catch(() => undefined)
        },
      }
    },
  }
}

/** Runs one statement on a connection of the pool, with a time-out. */
type RunStatement = <Row extends object>(statement: pg.QueryConfig) => Promise<readonly Row[]>

async function post(run: RunStatement, replyTo: string, replies: readonly string[]): Promise<void> {
  await run({
    name: 'live-replies-post',
    text: `with posted as (
             insert into live_replies (reply_to, body) select $1, unnest($2::text[]) returning id, body)
           select pg_notify($1, case when octet_length(body) <= ${MAX_ANNOUNCED_BYTES}
                                     then id || ' ' || body else id::text end)
             from posted order by id`,
    values: [replyTo, replies],
  })
}

/** Deletes every stored reply to this process and returns those that were not delivered yet. */
async function take(
  run: RunStatement,
  replyTo: string,
  received: readonly number[],
): Promise<readonly string[]> {
  const rows = await run<{ body: string | null }>({
    name: 'live-replies-take',
    text: `delete from live_replies where reply_to = $1
           returning case when id = any($2::bigint[]) then null else body end as body`,
    values: [replyTo, received],
  })
  return rows.flatMap(({ body }) => (body === null ? [] : [body]))
}

async function drop(
  run: RunStatement,
  replyTo: string,
  received: readonly number[],
): Promise<void> {
  await run({
    name: 'live-replies-drop',
    text: `delete from live_replies where reply_to = $1 and id = any($2::bigint[])`,
    values: [replyTo, received],
  })
}
