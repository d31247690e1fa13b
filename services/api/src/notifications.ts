import { inTransaction, type Tx } from '@plumbline/db/database'
import { takeDisabledEndpoints, takeEndedBatches } from '@plumbline/db/people/notifications'
import type { MailMessage } from '@plumbline/mail/message'
import { takeLowCredits } from '@plumbline/metering/spending'
import { linkTo } from '@plumbline/people/link'
import { queueMessage, type People } from '@plumbline/people/people'
import { accountNameOf, queueForOwners } from './account-mail.ts'

/** Milliseconds between two checks for notifications to send. */
const POLL_MS = 5_000
/** Notifications written in one transaction at most, and transactions of one check. */
const AT_ONCE = 50
const MOST_ROUNDS = 20

/** Prefix of the names of daily budgets of messages about batches; the account's id follows. */
export const BATCH_MAIL_BUDGETS = 'batch-mails:'

/** Likewise of messages about endpoints that were disabled. */
export const WEBHOOK_MAIL_BUDGETS = 'webhook-mails:'

/** An endpoint can be enabled and disabled again at once, any number of times. */
const WEBHOOK_MAILS_A_DAY = 10

/** More batches of an account in a day are a program's, and their messages would hold up those of others. */
const BATCH_MAILS_A_DAY = 200

/** Notifies users by mail about their batches, credits and endpoints, until disposed of. */
export function startNotifications(
  people: People,
  onError: (error: unknown) => void,
): AsyncDisposable {
  let running: Promise<void> = Promise.resolve()
  let isRunning = false
  const timer = setInterval(() => {
    if (isRunning) return
    isRunning = true
    running = queueNotifications(people)
      .catch(onError)
      .finally(() => {
        isRunning = false
      })
  }, POLL_MS)
  timer.unref()
  return {
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer)
      await running
    },
  }
}

/** Queues the mail of pending notifications, each once, even with several processes. */
export async function queueNotifications(people: People): Promise<void> {
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const counts = await inTransaction(people.db, async (tx) => [
      await queueLowCredits(people, tx),
      await queueDisabledEndpoints(people, tx),
      // Last, since it locks batches.
      await queueEndedBatches(people, tx),
    ])
    if (counts.some((count) => count > 0)) people.wakeMail()
    if (counts.every((count) => count < AT_ONCE)) return
  }
}

async function queueEndedBatches(people: People, tx: Tx): Promise<number> {
  const ended = await takeEndedBatches(tx, AT_ONCE)
  for (const { id, status, name, accountId, email, mailKey } of ended) {
    const taken = await people.takeOfDay(`${BATCH_MAIL_BUDGETS}${accountId}`, BATCH_MAILS_A_DAY)
    if (taken === undefined) continue
    const message: MailMessage = {
      kind: 'batch_ended',
      to: email,
      accountName: await accountNameOf(tx, accountId),
      batchName: name ?? id,
      status,
      link: linkOf(people, `batches/${id}`),
    }
    await queueMessage(people, tx, message, { withdrawKey: mailKey })
  }
  return ended.length
}

async function queueLowCredits(people: People, tx: Tx): Promise<number> {
  const notices = await takeLowCredits(tx, AT_ONCE)
  for (const { accountId, available, lowMark: mark } of notices) {
    const link = linkOf(people, 'credits')
    const accountName = await accountNameOf(tx, accountId)
    await queueForOwners(people, tx, accountId, (to) => ({
      kind: 'credits_low',
      to,
      accountName,
      available,
      mark,
      link,
    }))
  }
  return notices.length
}

async function queueDisabledEndpoints(people: People, tx: Tx): Promise<number> {
  const disabled = await takeDisabledEndpoints(tx, AT_ONCE)
  for (const { accountId } of disabled) {
    const taken = await people.takeOfDay(`${WEBHOOK_MAIL_BUDGETS}${accountId}`, WEBHOOK_MAILS_A_DAY)
    if (taken === undefined) continue
    const link = linkOf(people, 'settings')
    const accountName = await accountNameOf(tx, accountId)
    await queueForOwners(people, tx, accountId, (to) => ({
      kind: 'webhook_off',
      to,
      accountName,
      link,
    }))
  }
  return disabled.length
}

/** Safe because the public address is set if mail is sent. */
function linkOf(people: People, path: string): string {
  return linkTo(people, { origin: '' }, path)
}
