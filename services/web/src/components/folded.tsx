import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'

/**
 * What opens below its summary: drawn when it is first opened, and kept from then on, with what was
 * typed into it.
 */
export function Folded({
  summary,
  children,
}: {
  readonly summary: string
  readonly children: () => ComponentChildren
}): JSX.Element {
  const [isDrawn, setDrawn] = useState(false)
  const draw = (): void => setDrawn(true)
  return (
    // The press comes before it opens, so that it opens whole; what opens it by script is told by `toggle` alone.
    <details class="details" onToggle={draw}>
      <summary onClick={draw}>{summary}</summary>
      {isDrawn && children()}
    </details>
  )
}
