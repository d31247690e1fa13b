import type { ComponentChildren, JSX } from 'preact'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Form } from './field.tsx'

/** Asks for confirmation before an irreversible action, and closes. */
export function Confirm({
  title,
  action,
  onConfirm,
  onClose,
  children,
}: {
  readonly title: string
  /** Label of the confirming button. */
  readonly action: string
  readonly onConfirm: () => void
  readonly onClose: () => void
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <Dialog title={title} onClose={onClose}>
      {(close) => (
        <Form
          onSubmit={() => {
            close()
            onConfirm()
          }}
        >
          {children}
          <div class="row end">
            <Button onClick={close}>Keep as it is</Button>
            <Button kind="danger" type="submit">
              {action}
            </Button>
          </div>
        </Form>
      )}
    </Dialog>
  )
}
