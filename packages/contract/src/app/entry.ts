import { z } from 'zod'
import {
  emailField,
  factorCodeField,
  linkCodeField,
  nameField,
  newPasswordField,
  passwordField,
} from './fields.ts'

/** Body of `POST sign-up`. */
export const signUpRequest = z.strictObject({
  name: nameField,
  email: emailField,
  password: newPasswordField,
  /** The code of an invitation, if sign-up requires one or the user has one. */
  invitation: linkCodeField.optional(),
})

/** `POST sign-in`; `code` is sent on the second try, after the response `code_needed`. */
export const signInRequest = z.strictObject({
  email: emailField,
  password: passwordField,
  code: factorCodeField.optional(),
})

/** `POST welcome`: the one-time code of a link that the program or its command line printed. */
export const welcomeRequest = z.strictObject({
  code: linkCodeField,
  email: emailField,
  password: newPasswordField,
  name: nameField.optional(),
})

/**
 * `POST verify`: the code of a link that was sent to the address; `password` is sent on the second
 * try, after the response `password_needed`.
 */
export const verifyRequest = z.strictObject({
  token: linkCodeField,
  password: passwordField.optional(),
})

/** Body of `POST verify/resend` and `POST reset`. */
export const addressRequest = z.strictObject({ email: emailField })

/** Body of `POST reset/confirm`. */
export const resetConfirmRequest = z.strictObject({
  token: linkCodeField,
  password: newPasswordField,
})

/** Result of a step of signing up or in. */
export const entryResponse = z.strictObject({
  outcome: z.enum([
    /** A session has begun; `GET session` tells who is signed in. */
    'signed_in',
    /** The password is right; send the same request again with `code`. */
    'code_needed',
    /** The link belongs to a sign-up; send the same request again with its `password`. */
    'password_needed',
    /** If the address can be used, a message with a link is being sent to it. */
    'check_mail',
    /** The address is verified; sign in. */
    'verified',
    /** The new address is active; the other sessions have ended. */
    'email_changed',
    /** The password is changed and all sessions have ended; sign in. */
    'password_changed',
  ]),
})
/** Result of a step of signing up or in. */
export type EntryResponse = z.infer<typeof entryResponse>
/** Outcome of a step of signing up or in, which decides the next page. */
export type EntryOutcome = EntryResponse['outcome']

/** `POST password`: all other sessions end. */
export const passwordRequest = z.strictObject({
  current_password: passwordField,
  password: newPasswordField,
})

/**
 * `POST email`: takes effect when the link sent to the new address is opened; at once if no mail is
 * sent.
 */
export const emailRequest = z.strictObject({ email: emailField, password: passwordField })

/** `PATCH me`: the user's own name. */
export const userChange = z.strictObject({ name: nameField })

/** `POST second-factor/begin`: the password again. */
export const passwordProof = z.strictObject({ password: passwordField })

/** Data for an authenticator app; shown once. */
export const secondFactorStart = z.strictObject({
  /** Base32, for typing in. */
  secret: z.string(),
  /** `otpauth://totp/...`, for a QR code. */
  uri: z.string(),
})
/** Data for an authenticator app. */
export type SecondFactorStart = z.infer<typeof secondFactorStart>

/** `POST second-factor/confirm`: a code of the app, which proves that it has the secret. */
export const secondFactorConfirm = z.strictObject({ code: factorCodeField })

/** The recovery codes; each works once in place of a code, and none can be shown again. */
export const recoveryCodes = z.strictObject({ recovery_codes: z.array(z.string()) })

/** Body of `POST second-factor/disable`. */
export const secondFactorDisable = z.strictObject({
  password: passwordField,
  code: factorCodeField,
})

/** `POST step-up`: a code of the second factor; valid for 15 minutes. */
export const stepUpRequest = z.strictObject({ code: factorCodeField })
