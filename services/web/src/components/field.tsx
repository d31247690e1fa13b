import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Button } from './button.tsx'

/** A form: its fields are submitted together, also by Enter. */
export function Form({
  onSubmit,
  children,
}: {
  readonly onSubmit: () => void
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      {children}
    </form>
  )
}

interface FieldProps {
  readonly label: string
  readonly value: string
  readonly onInput: (value: string) => void
  readonly type?: 'text' | 'email' | 'password' | 'number' | 'search' | 'date' | 'datetime-local'
  readonly name?: string
  readonly autocomplete?: string
  /** Whether a phone begins with a capital; by default as it does elsewhere. */
  readonly autocapitalize?: 'none'
  readonly required?: boolean
  readonly hint?: ComponentChildren
  readonly min?: number
  readonly max?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly placeholder?: string
  readonly disabled?: boolean
  readonly inputMode?: 'numeric' | 'email' | 'tel' | 'text'
  readonly list?: readonly string[]
  /** Whether it takes the focus when it appears, since it is what is asked for next. */
  readonly takesFocus?: boolean
}

/** A text field of one line, with its label above and a hint below. */
export function Field({
  label,
  hint,
  onInput,
  list,
  takesFocus = false,
  ...input
}: FieldProps): JSX.Element {
  const id = useId()
  const ref = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (takesFocus) ref.current?.focus()
  }, [])
  const [isShown, setShown] = useState(false)
  const isPassword = input.type === 'password'
  const box = (
    <input
      {...input}
      id={id}
      ref={ref}
      class="input"
      type={isPassword && isShown ? 'text' : (input.type ?? 'text')}
      aria-describedby={hint === undefined ? undefined : `${id}-below`}
      list={list === undefined ? undefined : `${id}-list`}
      spellcheck={false}
      dir="auto"
      onInput={(event) => onInput(event.currentTarget.value)}
    />
  )
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {isPassword ? (
        <span class="with-button">
          {box}
          <Button onClick={() => setShown(!isShown)}>{isShown ? 'Hide' : 'Show'}</Button>
        </span>
      ) : (
        box
      )}
      {list !== undefined && (
        <datalist id={`${id}-list`}>
          {list.map((value) => (
            <option key={value} value={value} />
          ))}
        </datalist>
      )}
      <Hint id={id} hint={hint} />
    </div>
  )
}

/** A text field of several lines. */
export function TextField({
  label,
  value,
  onInput,
  hint,
  rows = 6,
}: {
  readonly label: string
  readonly value: string
  readonly onInput: (value: string) => void
  readonly hint?: string
  readonly rows?: number
}): JSX.Element {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        class="input"
        rows={rows}
        value={value}
        spellcheck={false}
        dir="auto"
        aria-describedby={hint === undefined ? undefined : `${id}-below`}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <Hint id={id} hint={hint} />
    </div>
  )
}

/** A choice of a select field. */
export interface Choice {
  readonly value: string
  readonly text: string
}

/** A select field. */
export function SelectField({
  label,
  value,
  choices,
  onChange,
  hint,
  disabled = false,
}: {
  readonly label: string
  readonly value: string
  readonly choices: readonly Choice[]
  readonly onChange: (value: string) => void
  readonly hint?: ComponentChildren
  readonly disabled?: boolean
}): JSX.Element {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        class="input"
        value={value}
        disabled={disabled}
        aria-describedby={hint === undefined ? undefined : `${id}-below`}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.text}
          </option>
        ))}
      </select>
      <Hint id={id} hint={hint} />
    </div>
  )
}

/** A checkbox. */
export function CheckField({
  label,
  checked,
  onChange,
  disabled = false,
}: {
  readonly label: string
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
  readonly disabled?: boolean
}): JSX.Element {
  const id = useId()
  return (
    <div class="check">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <label for={id}>{label}</label>
    </div>
  )
}

function Hint({
  id,
  hint,
}: {
  readonly id: string
  readonly hint?: ComponentChildren
}): JSX.Element | null {
  if (hint === undefined) return null
  return (
    <div id={`${id}-below`} class="hint">
      {hint}
    </div>
  )
}
