import type { ComponentChildren, JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { useAnnounce } from './announcer.tsx'

/** A page: its h1 with actions beside it, and its content. */
export function Page({
  title,
  heading,
  lead,
  actions,
  children,
}: {
  /** Title of the browser's tab. */
  readonly title: string
  /** The h1, if it differs from the title. */
  readonly heading?: ComponentChildren
  readonly lead?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children?: ComponentChildren
}): JSX.Element {
  useTitle(title)
  return (
    <div class="page">
      <div class="page-head">
        <div class="page-title">
          <h1>{heading ?? title}</h1>
          {lead !== undefined && <p class="muted">{lead}</p>}
        </div>
        {actions !== undefined && <div class="page-actions">{actions}</div>}
      </div>
      {children}
    </div>
  )
}

/** Sets the title of the browser's tab. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Plumbline`
  }, [title])
}

/** A part of a page under its heading. */
export function Card({
  title,
  actions,
  wide = false,
  children,
}: {
  readonly title?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly wide?: boolean
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <section class={wide ? 'card wide' : 'card'}>
      {(title !== undefined || actions !== undefined) && (
        <div class="card-head">
          {title !== undefined && <h2>{title}</h2>}
          {actions}
        </div>
      )}
      {children}
    </section>
  )
}

/** A notice or an error message. */
export function Notice({
  tone = 'plain',
  actions,
  children,
}: {
  readonly tone?: 'plain' | 'good' | 'warn' | 'bad'
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <div class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : undefined}>
      <p>{children}</p>
      {actions}
    </div>
  )
}

/** A notice that an action has succeeded, which is announced to screen readers as well. */
export function Said({ children }: { readonly children: string }): JSX.Element {
  const announce = useAnnounce()
  useEffect(() => announce(children), [children])
  return <Notice tone="good">{children}</Notice>
}

/** An empty state: what is missing, and the next step. */
export function Empty({
  title,
  heading: Heading = 'h3',
  action,
  children,
}: {
  readonly title: string
  /** Its level: `h2` unless it is within a part of the page that has one. */
  readonly heading?: 'h2' | 'h3'
  readonly action?: ComponentChildren
  readonly children?: ComponentChildren
}): JSX.Element {
  return (
    <div class="empty">
      <Heading>{title}</Heading>
      {children !== undefined && <p>{children}</p>}
      {action}
    </div>
  )
}

/** Placeholder for content that is loading. */
export function Skeleton({ rows = 3 }: { readonly rows?: number }): JSX.Element {
  return (
    <div class="skeleton" aria-hidden="true">
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} class={index === rows - 1 ? 'bone short' : 'bone'} />
      ))}
    </div>
  )
}

/** Reserves the height that the content has once it is loaded. */
export function ReservedSpace({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return (
    <div class="reserved-space">
      <Skeleton rows={4} />
      <div class="unread" inert>
        {children}
      </div>
    </div>
  )
}
