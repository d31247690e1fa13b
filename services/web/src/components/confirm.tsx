import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { Button } from './button.tsx'

/** Asks before something that cannot be taken back. The focus returns to where it was. */
export function Confirm({
  title,
  action,
  busy = false,
  onConfirm,
  onClose,
  children,
}: {
  readonly title: string
  /** What the button that does it says. */
  readonly action: string
  readonly busy?: boolean
  readonly onConfirm: () => void
  readonly onClose: () => void
  readonly children: ComponentChildren
}): JSX.Element {
  const id = useId()
  const ref = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    ref.current?.showModal()
  }, [])
  return (
    <dialog ref={ref} class="dialog" aria-labelledby={id} onClose={onClose}>
      <form
        class="dialog-body"
        onSubmit={(event) => {
          event.preventDefault()
          if (!busy) onConfirm()
        }}
      >
        <h2 id={id}>{title}</h2>
        {children}
        <div class="row end">
          <Button onClick={() => ref.current?.close()}>Keep as it is</Button>
          <Button kind="danger" type="submit" busy={busy}>
            {action}
          </Button>
        </div>
      </form>
    </dialog>
  )
}
