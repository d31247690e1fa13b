/** A message by kind, with the data that its text needs. */
export type MailMessage = { readonly to: string } & (
  | { readonly kind: 'verify'; readonly name: string; readonly link: string }
  | { readonly kind: 'already_signed_up'; readonly name: string; readonly link: string }
  | { readonly kind: 'confirm_email'; readonly name: string; readonly link: string }
  | { readonly kind: 'reset'; readonly name: string; readonly link: string }
  | { readonly kind: 'email_changed'; readonly name: string; readonly newEmail: string }
  | { readonly kind: 'password_changed'; readonly name: string; readonly link: string }
  | {
      readonly kind: 'new_sign_in'
      readonly name: string
      readonly network: string
      readonly browser: string
      readonly at: string
      readonly link: string
    }
  | { readonly kind: 'second_factor_off'; readonly name: string; readonly link: string }
  | { readonly kind: 'second_factor_guessed'; readonly name: string; readonly link: string }
  | {
      readonly kind: 'invitation'
      readonly accountName: string
      readonly inviterName: string
      readonly link: string
    }
  | {
      readonly kind: 'key_replaced'
      readonly accountName: string
      readonly mode: 'live' | 'test'
      readonly last4: string
      readonly byName: string
      readonly link: string
    }
  | {
      readonly kind: 'batch_ended'
      readonly accountName: string
      readonly batchName: string
      readonly status: string
      readonly link: string
    }
  | { readonly kind: 'webhook_off'; readonly accountName: string; readonly link: string }
  | {
      readonly kind: 'credits_low'
      readonly accountName: string
      readonly available: number
      readonly mark: number
      readonly link: string
    }
)

/** Kind of a message. */
export type MailKind = MailMessage['kind']

/**
 * Hours for which sending is tried: a link becomes invalid, other notices are outdated after five
 * days.
 */
export const MAIL_HOURS: Readonly<Record<MailKind, number>> = {
  verify: 24,
  already_signed_up: 24,
  confirm_email: 24,
  reset: 1,
  email_changed: 120,
  password_changed: 120,
  new_sign_in: 120,
  second_factor_off: 120,
  second_factor_guessed: 120,
  invitation: 120,
  key_replaced: 120,
  batch_ended: 120,
  credits_low: 120,
  webhook_off: 120,
}
