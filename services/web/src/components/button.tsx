import type { ComponentChildren, JSX } from 'preact'

/** How a button looks: what the page is for, what takes something away, or neither. */
export type ButtonKind = 'primary' | 'plain' | 'danger' | 'quiet'

interface ButtonProps {
  readonly kind?: ButtonKind
  readonly small?: boolean
  /** What it does is under way: it takes no second press, and keeps the focus. */
  readonly busy?: boolean
  readonly disabled?: boolean
  readonly type?: 'button' | 'submit'
  /** The whole accessible name, where it is not what is shown. */
  readonly label?: string
  readonly pressed?: boolean
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
      aria-pressed={rest.pressed}
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
 * A link that looks like a button, and is one to assistive technology where it begins an action.
 */
export function LinkButton({
  href,
  kind = 'plain',
  small = false,
  download = false,
  role,
  children,
}: {
  readonly href: string
  readonly kind?: ButtonKind
  readonly small?: boolean
  readonly download?: boolean
  readonly role?: 'button'
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <a
      class={classOf(kind, small)}
      href={href}
      role={role}
      // A download is the browser's, not a page of the app.
      {...(download ? { download: '', target: '_self' } : {})}
      onKeyDown={role === 'button' ? pressOnSpace : undefined}
    >
      {children}
    </a>
  )
}

function pressOnSpace(event: JSX.TargetedKeyboardEvent<HTMLAnchorElement>): void {
  if (event.key !== ' ') return
  event.preventDefault()
  event.currentTarget.click()
}

function classOf(kind: ButtonKind, small: boolean): string {
  return `button ${kind}${small ? ' small' : ''}`
}
