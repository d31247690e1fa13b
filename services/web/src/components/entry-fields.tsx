import type { JSX } from 'preact'
import { Field } from './field.tsx'

/** What is said below a new password. */
export const PASSWORD_HINT = 'At least 12 characters; a sentence is good.'

interface EntryField {
  readonly value: string
  readonly onInput: (value: string) => void
}

/** The address that a person signs in with, named so that password managers find it. */
export function EmailField({
  disabled = false,
  ...field
}: EntryField & { readonly disabled?: boolean }): JSX.Element {
  return (
    <Field
      {...field}
      label="Email"
      type="email"
      name="email"
      autocomplete="username"
      disabled={disabled}
      required
    />
  )
}

/** The password that a person has. */
export function PasswordField(field: EntryField): JSX.Element {
  return (
    <Field
      {...field}
      label="Password"
      type="password"
      name="password"
      autocomplete="current-password"
      required
    />
  )
}

/** A password that a person chooses. */
export function NewPasswordField(field: EntryField): JSX.Element {
  return (
    <Field
      {...field}
      label="Password"
      type="password"
      name="password"
      autocomplete="new-password"
      minLength={12}
      hint={PASSWORD_HINT}
      required
    />
  )
}

/** A code of the second factor. */
export function CodeField({
  hint,
  ...field
}: EntryField & { readonly hint?: string }): JSX.Element {
  return (
    <Field
      {...field}
      label="Code"
      name="code"
      autocomplete="one-time-code"
      inputMode="numeric"
      hint={hint}
      required
    />
  )
}

/** What a code may be where a recovery code goes, too. */
export const CODE_HINT = 'The 6 digits of your authenticator app, or a recovery code.'
