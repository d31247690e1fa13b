import type { SessionView } from '@plumbline/contract/app/session'
import { useLocation } from 'preact-iso'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Button } from './components/button.tsx'
import { SelectField } from './components/field.tsx'
import { Icon, type IconName } from './components/icon.tsx'
import { Notice } from './components/page.tsx'
import { Foreign } from './components/text.tsx'
import { useSessionActions } from './session.tsx'
import { useSubmission } from './submit.ts'

/** Entries of the menu. */
const PLACES: readonly (readonly [path: string, text: string, icon: IconName])[] = [
  ['/app', 'Overview', 'overview'],
  ['/app/batches', 'Batches', 'batches'],
  ['/app/try', 'Try it', 'try'],
  ['/app/keys', 'API keys', 'keys'],
  ['/app/usage', 'Usage', 'usage'],
  ['/app/credits', 'Credits', 'credits'],
  ['/app/settings', 'Settings', 'settings'],
]

/** The frame of every page for signed-in users. */
export function Shell({
  session,
  children,
}: {
  readonly session: SessionView | undefined
  readonly children: ComponentChildren
}): JSX.Element {
  const { path } = useLocation()
  const [isOpen, setOpen] = useState(false)
  useEffect(() => setOpen(false), [path])
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <header class="top">
        <Brand />
        {session !== undefined && session.accounts.length > 1 && (
          <span class="shown-account">
            <Foreign text={session.account?.name ?? 'No account'} clip />
          </span>
        )}
        <span class="menu-switch">
          <Button small expanded={isOpen} controls="menu" onClick={() => setOpen(!isOpen)}>
            Menu
          </Button>
        </span>
        <div id="menu" class={isOpen ? 'side open' : 'side'}>
          <nav class="nav" aria-label="Main">
            {PLACES.map(([href, text, icon]) => (
              <a key={href} href={href} aria-current={isWithin(path, href) ? 'page' : undefined}>
                <Icon name={icon} />
                {text}
              </a>
            ))}
          </nav>
          {session?.user != null && <Who session={session} />}
        </div>
      </header>
      <main id="main" class="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  )
}

function isWithin(path: string, href: string): boolean {
  return href === '/app' ? path === '/app' : path === href || path.startsWith(`${href}/`)
}

/** The signed-in user, the account, and sign-out. */
function Who({ session }: { readonly session: SessionView }): JSX.Element {
  const { signOut, switchTo } = useSessionActions()
  const { isBusy, fault, run } = useSubmission()
  return (
    <div class="who">
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      {session.accounts.length > 1 ? (
        <SelectField
          label="Account"
          value={session.account?.id ?? ''}
          choices={session.accounts.map(({ id, name }) => ({ value: id, text: name }))}
          onChange={(id) => void run(async () => await switchTo(id))}
        />
      ) : (
        <div class="who-name small">
          <Foreign text={session.account?.name ?? 'No account'} clip />
        </div>
      )}
      <div class="small muted">
        <Foreign text={session.user?.email ?? ''} clip />
      </div>
      <div>
        <Button small busy={isBusy} onClick={() => void run(signOut)}>
          Sign out
        </Button>
      </div>
    </div>
  )
}

/** The frame of pages for signed-out users. */
export function EntryFrame({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return (
    <div class="entry-frame">
      <header>
        <Brand />
      </header>
      <main id="main" class="entry-main card" tabIndex={-1}>
        {children}
      </main>
    </div>
  )
}

function Brand(): JSX.Element {
  return (
    <a class="brand" href="/app">
      <img src="/app/icon.svg" alt="" width="22" height="22" />
      Plumbline
    </a>
  )
}
