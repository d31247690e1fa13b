import type { JSX } from 'preact'
import { Field } from './field.tsx'

interface EntryField {
  readonly value: string
  readonly onInput: (value: string) => void
}

/** Field for the email address of a user, named so that password managers find it. */
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

/** A field of which a page may have several, under names of their own. */
interface LabeledField extends EntryField {
  readonly label?: string
}

/** Field for an existing password. */
export function PasswordField({ label = 'Password', ...field }: LabeledField): JSX.Element {
  return (
    <Field
      {...field}
      label={label}
      type="password"
      name="password"
      autocomplete="current-password"
      required
    />
  )
}

/** Field for a new password. */
export function NewPasswordField({ label = 'Password', ...field }: LabeledField): JSX.Element {
  return (
    <Field
      {...field}
      label={label}
      type="password"
      name="password"
      autocomplete="new-password"
      minLength={12}
      hint="At least 12 characters; a sentence is good."
      required
    />
  )
}

/** Field for a code of the second factor; for a recovery code, too, unless it takes digits only. */
export function CodeField({
  digitsOnly = false,
  takesFocus = false,
  ...field
}: EntryField & {
  readonly digitsOnly?: boolean
  readonly takesFocus?: boolean
}): JSX.Element {
  return (
    <Field
      {...field}
      label="Code"
      name="code"
      autocomplete="one-time-code"
      // The keypad for digits of a phone has no letters, which recovery codes have.
      inputMode={digitsOnly ? 'numeric' : 'text'}
      autocapitalize="none"
      takesFocus={takesFocus}
      hint={digitsOnly ? undefined : 'The 6 digits of your authenticator app, or a recovery code.'}
      required
    />
  )
}
