import type { ComponentChildren, JSX } from 'preact'

/** Style of a button: the main action, a destructive one, or neither. */
export type ButtonKind = 'primary' | 'plain' | 'danger'

interface ButtonProps {
  readonly kind?: ButtonKind
  readonly small?: boolean
  /** Whether the action is running: the button then ignores clicks, and keeps the focus. */
  readonly busy?: boolean
  readonly disabled?: boolean
  readonly type?: 'button' | 'submit'
  /** The whole accessible name, if it differs from the visible text. */
  readonly label?: string
  readonly expanded?: boolean
  readonly controls?: string
  readonly onClick?: () => void
  readonly children: ComponentChildren
}

/** A button. */
export function Button({
  kind = 'plain',
  small = false,
  busy = false,
  type = 'button',
  ...rest
}: ButtonProps): JSX.Element {
  return (
    <button
      type={type}
      class={classOf(kind, small)}
      disabled={rest.disabled}
      aria-disabled={busy || undefined}
      aria-busy={busy || undefined}
      aria-label={rest.label}
      aria-expanded={rest.expanded}
      aria-controls={rest.controls}
      onClick={(event) => {
        if (busy) event.preventDefault()
        else rest.onClick?.()
      }}
    >
      {rest.children}
    </button>
  )
}

/**
 * A link styled as a button; also exposed as one to assistive technology if it starts an action.
 */
export function LinkButton({
  href,
  kind = 'plain',
  small = false,
  busy = false,
  role,
  onPress,
  children,
}: {
  readonly href: string
  readonly kind?: ButtonKind
  readonly small?: boolean
  readonly busy?: boolean
  readonly role?: 'button'
  /** What to do in place of following a link to a file; others go to their page. */
  readonly onPress?: () => void
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <a
      class={classOf(kind, small)}
      href={href}
      role={role}
      aria-busy={busy || undefined}
      // A download is the browser's, not a page of the app.
      {...(onPress === undefined ? {} : { download: '', target: '_self' })}
      onClick={onPress === undefined ? undefined : (event) => pressPlainly(event, onPress)}
      onKeyDown={role === 'button' ? pressOnSpace : undefined}
    >
      {children}
    </a>
  )
}

/** With another key or button pressed it is the browser's, as "save as" is. */
function pressPlainly(event: JSX.TargetedMouseEvent<HTMLAnchorElement>, onPress: () => void): void {
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
  event.preventDefault()
  onPress()
}

function pressOnSpace(event: JSX.TargetedKeyboardEvent<HTMLAnchorElement>): void {
  if (event.key !== ' ') return
  event.preventDefault()
  event.currentTarget.click()
}

function classOf(kind: ButtonKind, small: boolean): string {
  return `button ${kind}${small ? ' small' : ''}`
}
