import type { SignUpMode } from '@plumbline/contract/app/session'
import { startMailSender } from '@plumbline/mail/sender'
import { createPasswordHasher } from '@plumbline/people/password'
import type { AttemptLimit, People } from '@plumbline/people/people'
import type { Connections } from '@plumbline/pipeline/connections'
import type { InstallationKey } from '@plumbline/pipeline/installation-key'
import type { Log } from '@plumbline/ports/log'
import { createMailDomains } from './mail-domains.ts'
import { startNotifications } from './notifications.ts'
import { createRateLimit } from './rate-limit.ts'
import type { ApiSettings } from './settings.ts'

const QUARTER_SECONDS = 900
const HOUR_SECONDS = 3_600

/** Factor for the limits of one user from many networks, and of one network for many users. */
const TRIES_OF_USER = 10
const TRIES_OF_NETWORK = 20
/** Hourly messages to one address, and caused by one network. */
const MESSAGES_TO_ADDRESS = 5
const MESSAGES_OF_NETWORK = 30

/** Opens the dependencies of signing up and in; if mail is configured, this process sends it. */
export function openPeople(
  settings: ApiSettings,
  {
    connections,
    installationKey,
    log,
    stack,
  }: {
    readonly connections: Connections
    readonly installationKey: InstallationKey
    readonly log: Log
    readonly stack: AsyncDisposableStack
  },
): People {
  const { db, budget } = connections
  const { MAIL_URL: url, MAIL_FROM: from, SIGN_IN_TRIES: tries } = settings
  const sender =
    url === undefined || from === undefined
      ? undefined
      : stack.use(startMailSender({ db, sealer: installationKey, url, from, log }))
  const most = (name: string, count: number, seconds: number): AttemptLimit => {
    const { limiter } = connections
    const limit = createRateLimit({ name, perSecond: count / seconds, burst: count, limiter })
    return async (key) => (await limit.take(key)).granted
  }
  const people: People = {
    db,
    settings: {
      signUp: signUpOf(settings),
      hasMail: sender !== undefined,
      publicUrl: settings.PUBLIC_URL,
      signUpsPerNetwork: settings.SIGN_UPS_PER_NETWORK,
      signUpsPerDomain: settings.SIGN_UPS_PER_MAIL_DOMAIN,
      invitationsPerDay: settings.INVITATIONS_PER_DAY,
    },
    sealer: installationKey,
    mailDomains: createMailDomains(db),
    passwords: createPasswordHasher(),
    tries: {
      pair: most('sign-in', tries, QUARTER_SECONDS),
      user: most('sign-in-user', tries * TRIES_OF_USER, QUARTER_SECONDS),
      network: most('sign-in-network', tries * TRIES_OF_NETWORK, QUARTER_SECONDS),
    },
    messages: {
      address: most('mail-address', MESSAGES_TO_ADDRESS, HOUR_SECONDS),
      network: most('mail-network', MESSAGES_OF_NETWORK, HOUR_SECONDS),
    },
    takeOfDay: async (name, mostPerDay) => {
      const taken = await budget.take(name, 1, mostPerDay)
      return taken.count === 1 ? { giveBack: () => taken.giveBack(1) } : undefined
    },
    wakeMail: () => sender?.wake(),
  }
  if (sender !== undefined) {
    stack.use(
      startNotifications(people, (error) =>
        log.warn({ err: error }, 'notifications could not be written'),
      ),
    )
  }
  return people
}

const LOOPBACK: readonly string[] = ['127.0.0.1', '::1', 'localhost']

/** Who may sign up: without mail no address can be verified, so only this machine. */
function signUpOf({ SIGN_UP: wanted, MAIL_URL, HOST }: ApiSettings): SignUpMode {
  const canVerify = MAIL_URL !== undefined || LOOPBACK.includes(HOST)
  return wanted === 'open' && !canVerify ? 'invite' : wanted
}
