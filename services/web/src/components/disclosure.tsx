import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'

/**
 * A disclosure: its content is rendered when first opened, and kept from then on with its input.
 */
export function Disclosure({
  summary,
  children,
}: {
  readonly summary: string
  readonly children: () => ComponentChildren
}): JSX.Element {
  const [isDrawn, setDrawn] = useState(false)
  const draw = (): void => setDrawn(true)
  return (
    // A click is handled before it opens, so that its content is there at once; if a script opens it,
    // only `toggle` fires.
    <details class="details" onToggle={draw}>
      <summary onClick={draw}>{summary}</summary>
      {isDrawn && children()}
    </details>
  )
}
