import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { focusHeading } from '../kept-focus.ts'

/** A modal dialog, which keeps the focus until it is closed and then returns it. */
export function Dialog({
  title,
  wide = false,
  onClose,
  children,
}: {
  readonly title: string
  readonly wide?: boolean
  readonly onClose: () => void
  /** The content; `close` closes the dialog as Escape does. */
  readonly children: (close: () => void) => ComponentChildren
}): JSX.Element {
  const id = useId()
  const ref = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = ref.current
    dialog?.showModal()
    // What is read begins at its heading; of a question the first answer has the focus.
    if (wide) focusHeading(dialog)
    // Only closing gives the focus back; taking it off the page does not.
    return () => dialog?.close()
  }, [])
  return (
    <dialog
      ref={ref}
      class={wide ? 'dialog wide' : 'dialog'}
      aria-labelledby={id}
      onClose={onClose}
    >
      <div class="dialog-body">
        <h2 id={id}>{title}</h2>
        {children(() => ref.current?.close())}
      </div>
    </dialog>
  )
}
