import { useQuery } from '@tanstack/preact-query'
import { useLocation } from 'preact-iso'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { sentenceOf } from './api/http.ts'
import { sessionQuery, shownBy } from './api/queries.ts'
import { Button, LinkButton } from './components/button.tsx'
import { Skeleton, Notice, Page } from './components/page.tsx'
import { Foreign } from './components/text.tsx'
import { Loaded } from './loaded.tsx'
import { ownPath } from './own-path.ts'
import { useKeptFocus } from './kept-focus.ts'
import { usePageFocus } from './page-focus.ts'
import { StepUpProvider } from './step-up.tsx'
import { pageOf, type PageMatch } from './routes.ts'
import { SessionProvider, useSession, useSessionActions } from './session.tsx'
import { EntryFrame, Shell } from './shell.tsx'
import { useSubmission } from './submit.ts'

/** Shows the page of the path, or the sign-in page if nobody is signed in. */
export function App(): JSX.Element {
  const { path } = useLocation()
  useKeptFocus()
  usePageFocus()
  const match = pageOf(path)
  if (match === null) return <NotFound />
  return <Guarded key={match.page.path} match={match} />
}

function Guarded({ match }: { readonly match: PageMatch }): JSX.Element {
  const { page, id } = match
  const session = useQuery(sessionQuery)
  const { data } = session
  const elsewhere = data === undefined ? null : placeInstead(page.access, data.user !== null)
  useRedirect(elsewhere)
  if (page.access !== 'signed-in') {
    return (
      <EntryFrame>
        {session.error !== null && data === undefined && <Away error={session.error} />}
        {data === undefined || elsewhere !== null ? (
          <Page title={page.title}>{session.error === null && <Skeleton />}</Page>
        ) : (
          <SessionProvider session={data}>
            <Loaded page={page} id={id} />
          </SessionProvider>
        )}
      </EntryFrame>
    )
  }
  if (data?.user == null) {
    return (
      <Shell session={data}>
        {session.error !== null && <Away error={session.error} />}
        <Page title={page.title}>
          <Skeleton rows={6} />
        </Page>
      </Shell>
    )
  }
  return (
    <SessionProvider session={data}>
      <StepUpProvider>
        <Shell session={data}>
          {session.error !== null && <Away error={session.error} />}
          {data.account === null ? (
            <NoAccount title={page.title} />
          ) : (
            <>
              {data.account.requires_second_factor && !data.user.second_factor && <NeedsFactor />}
              {/* What a page holds of one account or user is not another's. */}
              <Loaded key={shownBy(data)} page={page} id={id} />
            </>
          )}
        </Shell>
      </StepUpProvider>
    </SessionProvider>
  )
}

/** The page to show instead if the user may not see this one; null if they may. */
function placeInstead(
  access: PageMatch['page']['access'],
  isSignedIn: boolean,
): 'sign-in' | 'home' | null {
  if (access === 'signed-in' && !isSignedIn) return 'sign-in'
  return access === 'signed-out' && isSignedIn ? 'home' : null
}

/**
 * Redirects a signed-out user to the sign-in page, and a signed-in one from there to the page that
 * the user wanted.
 */
function useRedirect(elsewhere: ReturnType<typeof placeInstead>): void {
  const { route, url, query } = useLocation()
  useEffect(() => {
    if (elsewhere === 'sign-in') {
      const back = url === '/app' || url === '/app/' ? '' : `?next=${encodeURIComponent(url)}`
      route(`/app/sign-in${back}`, true)
    }
    if (elsewhere === 'home') route(ownPath(query['next']), true)
  }, [elsewhere])
}

function Away({ error }: { readonly error: Error }): JSX.Element {
  return (
    <Notice tone="bad" actions={<Button onClick={() => location.reload()}>Reload</Button>}>
      {sentenceOf(error)}
    </Notice>
  )
}

/** Tells a user without a second factor, in an account that asks for one, before a change is refused. */
function NeedsFactor(): JSX.Element {
  return (
    <Notice tone="warn" actions={<a href="/app/settings">Settings</a>}>
      This account asks its members for a second factor. Until you set one up, in the settings, you
      can look at everything, but change nothing.
    </Notice>
  )
}

/** Shown to a user who has left the account of the session, with their other accounts. */
function NoAccount({ title }: { readonly title: string }): JSX.Element {
  const { accounts } = useSession()
  const { switchTo } = useSessionActions()
  const { isBusy, fault, run } = useSubmission()
  return (
    <Page title={title}>
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      {accounts.length === 0 ? (
        <Notice tone="warn">
          You belong to no account any more. Ask an owner to invite you again, or sign out and
          create an account of your own.
        </Notice>
      ) : (
        <>
          <Notice tone="warn">You belong no more to the account that was shown here.</Notice>
          <div class="row">
            {accounts.map(({ id, name }) => (
              <Button
                key={id}
                busy={isBusy}
                onClick={() => void run(async () => await switchTo(id))}
              >
                Go to <Foreign text={name} />
              </Button>
            ))}
          </div>
        </>
      )}
    </Page>
  )
}

function NotFound(): JSX.Element {
  return (
    <EntryFrame>
      <Page title="Nothing here">
        <p>There is no page at this address.</p>
        <div>
          <LinkButton href="/app" kind="primary">
            Go to the overview
          </LinkButton>
        </div>
      </Page>
    </EntryFrame>
  )
}
