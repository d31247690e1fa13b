import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { CopyButton } from './copy.tsx'

/** A text in several forms, of which one is shown and can be copied. */
export function TextForms({
  label,
  forms,
  children,
}: {
  /** What is chosen. */
  readonly label: string
  readonly forms: readonly (readonly [name: string, text: string])[]
  /** Shows the text of the chosen form. */
  readonly children: (text: string) => JSX.Element
}): JSX.Element {
  const [chosen, setChosen] = useState(0)
  const text = forms[chosen]?.[1] ?? ''
  return (
    <>
      <div class="row spread">
        <div class="tabs" role="group" aria-label={label}>
          {forms.map(([name], index) => (
            <button
              key={name}
              type="button"
              aria-pressed={index === chosen}
              onClick={() => setChosen(index)}
            >
              {name}
            </button>
          ))}
        </div>
        <CopyButton text={text} />
      </div>
      {children(text)}
    </>
  )
}
