import { z } from 'zod'
import { KEY_PREFIX_PATTERN } from './fields.ts'
import { ROLES } from './roles.ts'

/** Who may create an account: anybody, invited people, nobody. Source: decision 43. */
export const SIGN_UP_MODES = ['open', 'invite', 'off'] as const
/** Setting of who may create an account. */
export type SignUpMode = (typeof SIGN_UP_MODES)[number]

/** An account in the list of those that a user belongs to. */
const membership = z.strictObject({
  id: z.string(),
  name: z.string(),
  role: z.enum(ROLES),
})

/**
 * `GET /app/api/session`: who is signed in, and what this installation offers; 200 for nobody, too.
 */
export const sessionView = z.strictObject({
  /**
   * The signed-in user; null if nobody is signed in, and then `account` and `session` are null as
   * well.
   */
  user: z
    .strictObject({
      id: z.string(),
      name: z.string(),
      email: z.string(),
      /** Whether the address was confirmed. */
      verified: z.boolean(),
      second_factor: z.boolean(),
    })
    .nullable(),
  /** The account that the pages show; also null for a user who belongs to none any more. */
  account: membership
    .extend({
      plan: z.string(),
      time_zone: z.string(),
      requires_second_factor: z.boolean(),
    })
    .nullable(),
  /** All accounts of the user, by name. */
  accounts: z.array(membership),
  session: z
    .strictObject({
      id: z.string(),
      created_at: z.iso.datetime(),
      /** When the session ends unless it is used before. */
      idle_until: z.iso.datetime(),
      /** When the session ends at the latest. */
      ends_at: z.iso.datetime(),
      /**
       * Until when keys, plan, members and deletion can be changed without `POST step-up`; null if
       * no second factor is set, so that none is needed.
       */
      proven_until: z.iso.datetime().nullable(),
    })
    .nullable(),
  service: z.strictObject({
    sign_up: z.enum(SIGN_UP_MODES),
    /** Whether messages can be sent: verification, reset and invitations need them. */
    has_mail: z.boolean(),
    /** Contact for plans and packs. */
    contact_url: z.string().nullable(),
    /** Monthly credits of the plan of a new account; null if nobody can sign up, or is signed in. */
    free_credits: z.number().int().nullable(),
    /** The beginning of every key, for example `svc`. */
    key_prefix: z.string().regex(KEY_PREFIX_PATTERN),
  }),
})
/** Who is signed in. */
export type SessionView = z.infer<typeof sessionView>

/** `GET /app/api/sessions`: where the user is signed in, the newest use first. */
export const sessionList = z.strictObject({
  data: z.array(
    z.strictObject({
      id: z.string(),
      /** Whether it is the calling session. */
      current: z.boolean(),
      created_at: z.iso.datetime(),
      /** Time of last use, to the minute. */
      used_at: z.iso.datetime(),
      /** The network of the sign-in: an IPv4 address, or an IPv6 /64. */
      network: z.string(),
      /** The `User-Agent` header, cut to 200 characters. */
      browser: z.string(),
    }),
  ),
})
