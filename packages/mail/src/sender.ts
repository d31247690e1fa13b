import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { withTimeOut } from '@plumbline/concurrency/time-out'
import type { Db } from '@plumbline/db/database'
import {
  nextMailMs,
  postponeMail,
  removeMail,
  leaseMails,
  type StoredMail,
} from '@plumbline/db/mails'
import { createTransport } from 'nodemailer'
import { openMail, type Sealer } from './outbox.ts'

/** Sends the messages of the outbox until it is disposed of. */
export interface MailSender extends AsyncDisposable {
  /** Checks the outbox at once; to be called after this process has stored a message. */
  wake(): void
}

/** Settings and dependencies of the sender. */
export interface MailSenderOptions {
  readonly db: Db
  readonly sealer: Sealer
  /**
   * `smtp://user:password@host:587` or `smtps://host:465`; STARTTLS is used where it is offered.
   */
  readonly url: string
  /** Sender of all messages, `Name <address>`. */
  readonly from: string
  readonly log: {
    warn(fields: object, message: string): void
    error(fields: object, message: string): void
  }
}

/** Messages sent concurrently at most. */
const AT_ONCE = 4
/** Milliseconds after which a message is due again if the process that was sending it died. */
const LEASE_MS = 120_000
/** Time-out of each step with the mail server, so that a message is finished within its lease. */
const STEP_MS = 15_000
const SEND_MS = 90_000
/** Milliseconds between two checks of the outbox for messages of other processes. */
const POLL_MS = 2_000
/** Delays after the first failures; then an hour each. */
const PAUSES_MS = [5_000, 30_000, 120_000, 600_000, 1_800_000] as const
const LONGEST_PAUSE_MS = 3_600_000

/** Starts sending. While the server is down, messages wait and are tried again. */
export function startMailSender(options: MailSenderOptions): MailSender {
  const stop = new AbortController()
  let sleep = new AbortController()
  const transport = createTransport({
    url: options.url,
    requireTLS: mustEncrypt(options.url),
    connectionTimeout: STEP_MS,
    greetingTimeout: STEP_MS,
    socketTimeout: STEP_MS,
    dnsTimeout: STEP_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const send = async (mail: StoredMail): Promise<void> => {
    const composed = openMail(options.sealer, mail.sealed)
    if (composed === undefined) {
      options.log.error({ kind: mail.kind }, 'a message of another installation key was dropped')
      await removeMail(options.db, mail)
      return
    }
    try {
      const { to, ...rest } = composed
      const sent = transport.sendMail({
        from: options.from,
        // As an object, so that no address is read as two.
        to: { name: '', address: to },
        ...rest,
        messageId: idOf(mail, options.from),
      })
      await withTimeOut(SEND_MS, sent, 'the mail server took too long')
    } catch (error) {
      await refuseOrPutOff(options, mail, error)
      return
    }
    await removeMail(options.db, mail)
  }
  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      sleep = new AbortController()
      let pauseMs = POLL_MS
      try {
        const { mails, givenUp } = await leaseMails(options.db, {
          count: AT_ONCE,
          leaseMs: LEASE_MS,
        })
        for (const what of givenUp)
          options.log.error({ what }, 'a message expired before it was sent')
        await Promise.all(mails.map(send))
        if (mails.length > 0) continue
        pauseMs = Math.min(pauseMs, (await nextMailMs(options.db)) ?? pauseMs)
      } catch (error) {
        options.log.warn({ err: error }, 'the outbox cannot be read')
      }
      await wait(Math.max(50, pauseMs), undefined, {
        signal: AbortSignal.any([stop.signal, sleep.signal]),
      }).catch(() => undefined)
    }
  }
  const running = run()
  return {
    wake: () => sleep.abort(),
    [Symbol.asyncDispose]: async () => {
      stop.abort()
      await running
      transport.close()
    },
  }
}

/** A password is only sent over TLS, or to this machine. */
function mustEncrypt(address: string): boolean {
  const { password, hostname } = new URL(address)
  return password !== '' && !['127.0.0.1', '[::1]', 'localhost'].includes(hostname)
}

/** Deletes a message that was rejected for good, and postpones it after any other failure. */
async function refuseOrPutOff(
  { db, log }: MailSenderOptions,
  mail: StoredMail,
  error: unknown,
): Promise<void> {
  const fault = faultOf(error)
  if (isRefusalOfMessage(error)) {
    await removeMail(db, mail)
    log.error({ kind: mail.kind, fault }, 'a message was refused and dropped')
    return
  }
  log.warn({ kind: mail.kind, fault, attempts: mail.attempts + 1 }, 'a message could not be sent')
  const afterMs = PAUSES_MS[mail.attempts] ?? LONGEST_PAUSE_MS
  await postponeMail(db, mail, { afterMs, fault })
}

/**
 * A permanent reply to RCPT or DATA that is about the message. Not those about us, which the operator
 * or the server may mend meanwhile: any to MAIL, which names only our own address, "authentication
 * required", and at RCPT a policy such as "relay access denied". Source: RFC 5321 4.2.1, RFC 4954 6,
 * RFC 3463 3.8; nodemailer's codes `EENVELOPE` and `EMESSAGE`.
 */
function isRefusalOfMessage(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, command, response, responseCode } = error as Error & Partial<SmtpFault>
  const isAboutMessage = code === 'EENVELOPE' || code === 'EMESSAGE'
  if (!isAboutMessage || typeof responseCode !== 'number' || responseCode < 500) return false
  if (command === 'MAIL FROM' || responseCode === AUTHENTICATION_REQUIRED) return false
  return command !== 'RCPT TO' || !POLICY.test(String(response))
}

/** What nodemailer adds to an error about a reply. */
type SmtpFault = Readonly<Record<'code' | 'command' | 'response' | 'responseCode', unknown>>

const AUTHENTICATION_REQUIRED = 530

/** A reply with an enhanced status of security or policy. */
const POLICY = /^5\d\d[ -]5\.7\./

/** The error without the server's text, which may hold the address. */
function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const { code, responseCode } = error as Error & { code?: unknown; responseCode?: unknown }
  return (
    [code, responseCode]
      .filter((part) => part !== undefined)
      .map(String)
      .join(' ') || error.name
  )
}

/**
 * The same Message-ID for each attempt, so that a server that received a message twice can drop one.
 * Of the content, since after a failover two messages may have had the same number.
 */
function idOf({ sealed }: StoredMail, from: string): string {
  const domain = /@([^>\s]+)/.exec(from)?.[1] ?? 'localhost'
  const digest = createHash('sha256').update(sealed).digest('base64url')
  return `<plumbline.${digest.slice(0, MESSAGE_ID_CHARS)}@${domain}>`
}

/** 132 bits. */
const MESSAGE_ID_CHARS = 22
