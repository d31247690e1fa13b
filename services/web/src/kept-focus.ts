import { useEffect } from 'preact/hooks'

/**
 * Moves the focus to the heading of its part of the page when what has it is removed, hidden or
 * disabled, such as a button that has done its work. Browsers then drop it, and a screen reader
 * begins at the top of the window again. Used once, above the pages.
 */
export function useKeptFocus(): void {
  useEffect(() => {
    let focused: Focused | null = null
    const note = ({ target }: FocusEvent): void => {
      focused = target instanceof Element ? { target, within: partsOf(target) } : null
    }
    const forget = ({ target }: FocusEvent): void => {
      // Some browsers say so of what is being removed, too, which is only known after it is.
      queueMicrotask(() => {
        if (focused?.target === target && isFocusable(focused.target)) focused = null
      })
    }
    const keep = (): void => {
      if (focused === null || isFocusable(focused.target)) return
      const { target, within } = focused
      focused = null
      const { activeElement } = document
      if (activeElement !== null && activeElement !== document.body && activeElement !== target)
        return
      focusHeading(within.find(isFocusable))
    }
    document.addEventListener('focusin', note)
    document.addEventListener('focusout', forget)
    const changes = new MutationObserver(keep)
    changes.observe(document.body, {
      childList: true,
      subtree: true,
      attributeFilter: ['disabled', 'hidden'],
    })
    return () => {
      document.removeEventListener('focusin', note)
      document.removeEventListener('focusout', forget)
      changes.disconnect()
    }
  }, [])
}

/** What had the focus, and the parts of the page that it is in, the smallest first. */
interface Focused {
  readonly target: Element
  readonly within: readonly Element[]
}

function partsOf(target: Element): readonly Element[] {
  const parts: Element[] = []
  let part = target.parentElement?.closest(PARTS) ?? null
  while (part !== null) {
    parts.push(part)
    part = part.parentElement?.closest(PARTS) ?? null
  }
  return parts
}

const PARTS = 'section, dialog, main'

function isFocusable(element: Element): boolean {
  return (
    element.isConnected && !element.matches(':disabled') && element.closest('[hidden]') === null
  )
}

/** Moves the focus to the first heading of a part of the page, else to the part itself. */
export function focusHeading(part: Element | null | undefined): void {
  const heading = part?.querySelector<HTMLElement>('h1, h2, h3') ?? part
  if (!(heading instanceof HTMLElement)) return
  if (!heading.hasAttribute('tabindex')) heading.tabIndex = -1
  heading.focus({ preventScroll: true })
}
