import type { Role } from '@plumbline/contract/app/roles'
import type { Generated } from 'kysely'

/** Users, their sessions and links. */
export interface PeopleTables {
  users: UserRow
  recovery_codes: RecoveryCodeRow
  members: MemberRow
  sessions: SessionRow
  invitations: InvitationRow
  link_codes: LinkCodeRow
  mails: MailRow
  mails_told: ToldRow
  batch_watchers: WatcherRow
  free_mailboxes: FreeMailboxRow
}

/** A row of `users`. */
export interface UserRow {
  /** `usr_` and 16 base62 characters. */
  id: string
  name: string
  email: string
  /** Normalized address: equal if two addresses are the same mailbox. */
  email_key: string
  /** Argon2id, PHC string format. */
  password_digest: string
  verified_at: Date | null
  /** Encrypted. */
  totp_secret: string | null
  totp_confirmed_at: Date | null
  totp_used_step: number | null
  is_operator: Generated<boolean>
  created_at: Generated<Date>
}

/** A row of `recovery_codes`; deleted when it is used. */
export interface RecoveryCodeRow {
  user_id: string
  digest: Buffer
}

/** A row of `members`. */
export interface MemberRow {
  account_id: string
  user_id: string
  role: Role
  created_at: Generated<Date>
}

/** A row of `sessions`. */
export interface SessionRow {
  /** `ses_` and 16 base62 characters. */
  id: string
  /** SHA-256 of the token. */
  digest: Buffer
  user_id: string
  account_id: string | null
  created_at: Generated<Date>
  used_at: Generated<Date>
  ends_at: Date
  proven_at: Date | null
  network: string
  browser: string
}

/** A row of `invitations`. */
export interface InvitationRow {
  /** `inv_` and 16 base62 characters. */
  id: string
  account_id: string
  email: string
  email_key: string
  role: Role
  digest: Buffer
  invited_by: string | null
  created_at: Generated<Date>
  expires_at: Date
}

/** Purpose of a link's secret. */
export type LinkPurpose =
  | 'sign_up'
  | 'change_email'
  | 'verify_email'
  | 'reset'
  | 'welcome'
  | 'way_in'

/** A row of `link_codes`; deleted when it is used. */
export interface LinkCodeRow {
  digest: Buffer
  purpose: LinkPurpose
  user_id: string | null
  account_id: string | null
  email_key: string | null
  detail: string | null
  local_only: Generated<boolean>
  created_at: Generated<Date>
  expires_at: Date
}

/** A row of `mails`; deleted once the mail server accepted it. */
export interface MailRow {
  id: Generated<number>
  once_key: string | null
  kind: string
  sealed: string
  created_at: Generated<Date>
  expires_at: Date
  attempts: Generated<number>
  next_at: Generated<Date>
  fault: string | null
}

/** A row of `mails_told`. */
export interface ToldRow {
  once_key: string
  told_at: Generated<Date>
}

/** A row of `free_mailboxes`. */
export interface FreeMailboxRow {
  /** HMAC of the normalized address. */
  digest: string
  account_id: string
}

/** A row of `batch_watchers`. */
export interface WatcherRow {
  batch_id: string
  user_id: string
  created_at: Generated<Date>
  /** When the batch ended; null while it has not. Triggers set it. */
  ended_at: Generated<Date | null>
}
