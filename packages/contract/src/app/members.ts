import { z } from 'zod'
import { RETENTION_DAYS } from '../batch-request.ts'
import { CREDITS_MAX } from '../plans.ts'
import { emailField, linkCodeField, nameField, passwordField } from './fields.ts'
import { ROLES } from './roles.ts'

/** `GET members`: members of the account and open invitations. */
export const memberList = z.strictObject({
  data: z.array(
    z.strictObject({
      /** Id of the user. */
      id: z.string(),
      name: z.string(),
      email: z.string(),
      role: z.enum(ROLES),
      second_factor: z.boolean(),
      since: z.iso.datetime(),
      /** Whether it is the calling user. */
      self: z.boolean(),
    }),
  ),
  invitations: z.array(
    z.strictObject({
      id: z.string(),
      email: z.string(),
      role: z.enum(ROLES),
      expires_at: z.iso.datetime(),
    }),
  ),
})
/** Members and open invitations of an account. */
export type MemberList = z.infer<typeof memberList>

/** Body of `PATCH members/{id}`. */
export const memberChange = z.strictObject({ role: z.enum(ROLES) })

/** Body of `POST invitations`. */
export const invitationRequest = z.strictObject({ email: emailField, role: z.enum(ROLES) })

/** The new invitation; if no mail is sent, with the link to pass on, which is shown once. */
export const invitationResponse = z.strictObject({
  id: z.string(),
  email: z.string(),
  role: z.enum(ROLES),
  expires_at: z.iso.datetime(),
  /** Null where it was sent by mail. */
  link: z.string().nullable(),
})
/** A new invitation. */
export type InvitationResponse = z.infer<typeof invitationResponse>

/**
 * Body of `POST invitations/look`, which shows an invitation on the page that asks whether to
 * accept it.
 */
export const invitationLook = z.strictObject({ token: linkCodeField })
/** An invitation as shown to whoever has its link. */
export const invitationView = z.strictObject({
  account_name: z.string(),
  email: z.string(),
  role: z.enum(ROLES),
  /** Whether a user with this address exists; if not, `sign-up` takes the `invitation`. */
  has_user: z.boolean(),
})
/** An invitation as shown to whoever has its link. */
export type InvitationView = z.infer<typeof invitationView>

/** `POST invitations/accept`, by the signed-in user with that address. */
export const invitationAccept = z.strictObject({ token: linkCodeField })

/** `POST account/hand-over`: another member becomes owner, and the calling owner a member. */
export const handOverRequest = z.strictObject({ member_id: z.string().min(1).max(100) })

/** Body of `POST switch`. */
export const switchRequest = z.strictObject({ account_id: z.string().min(1).max(100) })

/** Response of `GET account`: the settings of an account, which its owners change. */
export const accountSettings = z.strictObject({
  id: z.string(),
  name: z.string(),
  /** IANA name; billing cycles begin at its midnight. */
  time_zone: z.string(),
  /** Days that files and results of a batch are kept unless the upload says otherwise; null: 30. */
  retention_days: z.int().min(0).max(RETENTION_DAYS.max).nullable(),
  /** Credits that may be spent per day of the time zone, 0 for none; null: no limit. */
  daily_spending_limit: z.int().min(0).nullable(),
  /** Balance at which the owners are notified; null: never. */
  low_credit_mark: z.int().min(1).nullable(),
  /** Whether every member must set a second factor before they may change anything. */
  requires_second_factor: z.boolean(),
})
/** Settings of an account. */
export type AccountSettings = z.infer<typeof accountSettings>

const credits = z.int('Send a whole number of credits.').min(0).max(CREDITS_MAX)

/** Body of `PATCH account`; omitted settings stay as they are. */
export const accountChange = z.strictObject({
  name: nameField.optional(),
  time_zone: z.string().min(1).max(100).optional(),
  retention_days: z.int().min(0).max(RETENTION_DAYS.max).nullable().optional(),
  daily_spending_limit: credits.nullable().optional(),
  low_credit_mark: credits.min(1).nullable().optional(),
  requires_second_factor: z.boolean().optional(),
})

/** `DELETE account`: the name of the account as typed in, and the password. */
export const accountDeletion = z.strictObject({
  confirm_name: z.string().max(300),
  password: passwordField,
})
