import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Button } from './button.tsx'
import { useAnnounce } from './announcer.tsx'

/** Copies a text to the clipboard. */
export function CopyButton({
  text,
  name = 'Copy',
}: {
  readonly text: string
  readonly name?: string
}): JSX.Element {
  const announce = useAnnounce()
  const [tried, setTried] = useState<{ readonly text: string; readonly isDone: boolean }>()
  const copy = async (): Promise<void> => {
    const isDone = await putOnClipboard(text)
    setTried({ text, isDone })
    announce(isDone ? 'Copied.' : 'The browser did not let it be copied; select the text instead.')
  }
  return (
    <span class="row">
      <Button onClick={() => void copy()}>{name}</Button>
      {tried?.text === text && (
        <span class="small muted" aria-hidden="true">
          {tried.isDone ? 'On the clipboard' : 'Not copied: select the text instead'}
        </span>
      )}
    </span>
  )
}

/**
 * Copies a text; returns whether it worked. Over plain HTTP from another machine, browsers only
 * support the legacy API.
 */
async function putOnClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copyBySelection(text)
  }
}

function copyBySelection(text: string): boolean {
  const box = document.createElement('textarea')
  box.value = text
  box.className = 'unseen'
  document.body.append(box)
  box.select()
  try {
    return document.execCommand('copy')
  } catch {
    return false
  } finally {
    box.remove()
  }
}
