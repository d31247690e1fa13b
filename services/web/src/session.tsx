import { useQueryClient } from '@tanstack/preact-query'
import type { SessionView } from '@plumbline/contract/app/session'
import { isAtLeast, type Role } from '@plumbline/contract/app/roles'
import { createContext, type ComponentChildren, type JSX } from 'preact'
import { useContext } from 'preact/hooks'
import { callApp } from './api/app-calls.ts'
import { sessionQuery } from './api/queries.ts'

const NOBODY: SessionView = {
  user: null,
  account: null,
  accounts: [],
  session: null,
  service: { sign_up: 'off', has_mail: false, contact_url: null, key_prefix: 'svc' },
}

const Current = createContext<SessionView>(NOBODY)

/** Tells the pages below who is signed in. */
export function SessionProvider({
  session,
  children,
}: {
  readonly session: SessionView
  readonly children: ComponentChildren
}): JSX.Element {
  return <Current.Provider value={session}>{children}</Current.Provider>
}

/** Who is signed in, and what this installation offers. */
export function useSession(): SessionView {
  return useContext(Current)
}

/**
 * Whether the person may do in this account what a role may. What they may not do is not offered.
 */
export function useMay(needed: Role): boolean {
  const { account } = useSession()
  return account !== null && isAtLeast(account.role, needed)
}

/** What changes who is signed in, or which account is shown. */
export interface SessionMoves {
  /** Reads anew who is signed in. */
  readonly refresh: () => Promise<void>
  readonly signOut: () => Promise<void>
  readonly switchTo: (accountId: string) => Promise<void>
}

/** How a component changes the session; what was read before is forgotten. */
export function useSessionMoves(): SessionMoves {
  const queries = useQueryClient()
  const refresh = async (): Promise<void> => {
    const next = await callApp('readSession')
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
    queries.setQueryData(sessionQuery.queryKey, next)
  }
  return {
    refresh,
    signOut: async () => {
      await callApp('signOut')
      await refresh()
    },
    switchTo: async (accountId) => {
      await callApp('switchAccount', { account_id: accountId })
      await refresh()
    },
  }
}
