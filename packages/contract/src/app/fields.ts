import { z } from 'zod'

/** The smallest length of a password, in characters. Source: OWASP ASVS 5.0, 6.2.1 and 6.2.9. */
export const PASSWORD_MIN_CHARS = 12
/**
 * The greatest length of a password, so that hashing has a bound. Source: ASVS 5.0, 6.2.9: at least
 * 64 are to be permitted.
 */
export const PASSWORD_MAX_CHARS = 256

/** The greatest length of names of people and accounts, in characters. */
export const NAME_MAX_CHARS = 200

/** The part of a key before `_live_`. */
export const KEY_PREFIX_PATTERN = /^[a-z][a-z0-9]{0,15}$/

/**
 * Letters, digits and punctuation of an address, without anything that a mail program takes for two
 * addresses or a display name. Source: RFC 5321 4.1.2 (Dot-string), RFC 6531 3.3.
 */
const ADDRESS = /^[\p{L}\p{M}\p{N}.!#$%&'*+/=?^_`{|}~-]+@[\p{L}\p{M}\p{N}.-]+$/u

/** An address to sign in with. It is checked further before a message is sent to it. */
export const emailField = z
  .string('Send `email` as a string.')
  .trim()
  .min(3, 'Enter your email address.')
  .max(254, 'An email address has at most 254 characters.')
  .regex(ADDRESS, 'That is not an email address; it needs the form name@example.com.')

/** A new password: any characters, counted as typed. */
export const newPasswordField = z
  .string('Send `password` as a string.')
  .min(PASSWORD_MIN_CHARS, `A password has at least ${PASSWORD_MIN_CHARS} characters.`)
  .max(PASSWORD_MAX_CHARS, `A password has at most ${PASSWORD_MAX_CHARS} characters.`)

/** A password as it is entered. */
export const passwordField = z
  .string('Send `password` as a string.')
  .min(1, 'Enter your password.')
  .max(PASSWORD_MAX_CHARS, `A password has at most ${PASSWORD_MAX_CHARS} characters.`)

/** The name of a user or account. */
export const nameField = z
  .string('Send `name` as a string.')
  .trim()
  .min(1, 'Enter a name.')
  .max(NAME_MAX_CHARS, `A name has at most ${NAME_MAX_CHARS} characters.`)
  .regex(/^\P{Cc}*$/u, 'A name has no line breaks or control characters.')

/**
 * The code of an authenticator app (6 digits), or a recovery code; spaces and hyphens do not
 * matter.
 */
export const factorCodeField = z
  .string('Send `code` as a string.')
  .min(6, 'Enter the 6 digits that your authenticator app shows, or a recovery code.')
  .max(64, 'Enter the 6 digits that your authenticator app shows, or a recovery code.')

/** The secret part of a link. */
export const linkCodeField = z
  .string('Send the code of the link as a string.')
  .regex(/^[0-9A-Za-z]{1,100}$/, 'The link is incomplete; open it again from where you got it.')
