import { useQueryClient } from '@tanstack/preact-query'
import type { SessionView } from '@plumbline/contract/app/session'
import { isAtLeast, type Role } from '@plumbline/contract/app/roles'
import { createContext, type ComponentChildren, type JSX } from 'preact'
import { useContext } from 'preact/hooks'
import { callApp } from './api/app-calls.ts'
import { adoptSession, sessionQuery } from './api/queries.ts'
import { noteShownAccount } from './api/shown-account.ts'

const NOBODY: SessionView = {
  user: null,
  account: null,
  accounts: [],
  session: null,
  service: {
    sign_up: 'off',
    has_mail: false,
    contact_url: null,
    free_credits: null,
    key_prefix: 'svc',
  },
}

const Current = createContext<SessionView>(NOBODY)

/** Provides the session to the pages below. */
export function SessionProvider({
  session,
  children,
}: {
  readonly session: SessionView
  readonly children: ComponentChildren
}): JSX.Element {
  noteShownAccount(session.account?.id ?? null)
  return <Current.Provider value={session}>{children}</Current.Provider>
}

/** The signed-in user, and features of this installation. */
export function useSession(): SessionView {
  return useContext(Current)
}

/**
 * Whether the user has at least this role in the account. Actions that need more are not offered.
 */
export function useMay(needed: Role): boolean {
  const { account } = useSession()
  return account !== null && isAtLeast(account.role, needed)
}

/** Changes of the session or of the shown account. */
export interface SessionActions {
  /** Reads the session again. */
  readonly refresh: () => Promise<void>
  readonly signOut: () => Promise<void>
  readonly switchTo: (accountId: string) => Promise<void>
}

/** The functions that change the session; what else is cached is read again. */
export function useSessionActions(): SessionActions {
  const queries = useQueryClient()
  const refresh = async (): Promise<void> => {
    const next = await callApp('readSession')
    adoptSession(queries, next)
    queries.setQueryData(sessionQuery.queryKey, next)
    void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
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
