import type { ComponentType } from 'preact'
import type { PageProps } from './page-props.ts'

/** A page of the app. */
export interface PageRoute {
  /** Below `/app`; `:id` stands for one segment. */
  readonly path: string
  /** The h1 until the page is loaded. */
  readonly title: string
  /** Whether the page is for signed-in users, for signed-out ones, or for anybody. */
  readonly access: 'signed-in' | 'signed-out' | 'anybody'
  readonly load: () => Promise<ComponentType<PageProps>>
}

/** Every page; loaded when first opened. */
export const PAGES: readonly PageRoute[] = [
  page('/', 'Overview', async () => (await import('./pages/overview.tsx')).Overview),
  page('/batches', 'Batches', async () => (await import('./pages/batches.tsx')).Batches),
  page('/batches/new', 'New batch', async () => (await import('./pages/new-batch.tsx')).NewBatch),
  page('/batches/:id', 'Batch', async () => (await import('./pages/batch.tsx')).Batch),
  page('/try', 'Try it', async () => (await import('./pages/try-it.tsx')).TryIt),
  page('/keys', 'API keys', async () => (await import('./pages/keys.tsx')).Keys),
  page('/usage', 'Usage', async () => (await import('./pages/usage.tsx')).Usage),
  page('/credits', 'Credits', async () => (await import('./pages/credits.tsx')).Credits),
  page('/settings', 'Settings', async () => (await import('./pages/settings.tsx')).Settings),
  page(
    '/settings/webhooks/:id',
    'Webhook',
    async () => (await import('./pages/webhook.tsx')).Webhook,
  ),
  page('/settings/erase', 'Erase values', async () => (await import('./pages/erase.tsx')).Erase),
  entryPage('/sign-in', 'Sign in', async () => (await import('./pages/sign-in.tsx')).SignIn),
  entryPage(
    '/sign-up',
    'Create an account',
    async () => (await import('./pages/sign-up.tsx')).SignUp,
  ),
  open('/reset', 'Reset the password', async () => (await import('./pages/reset.tsx')).Reset),
  open('/welcome', 'Welcome', async () => (await import('./pages/welcome.tsx')).Welcome),
  open('/verify', 'Verify the address', async () => (await import('./pages/verify.tsx')).Verify),
  open(
    '/invitation',
    'Invitation',
    async () => (await import('./pages/invitation.tsx')).Invitation,
  ),
]

type Load = PageRoute['load']

function page(path: string, title: string, load: Load): PageRoute {
  return { path, title, access: 'signed-in', load }
}

function entryPage(path: string, title: string, load: Load): PageRoute {
  return { path, title, access: 'signed-out', load }
}

function open(path: string, title: string, load: Load): PageRoute {
  return { path, title, access: 'anybody', load }
}

/** A page with its path parameters. */
export interface PageMatch {
  readonly page: PageRoute
  readonly id: string
}

/** The page of a path; null if there is none. Literal segments take precedence over parameters. */
export function pageOf(path: string): PageMatch | null {
  const below = path.replace(/^\/app(?=\/|$)/, '').replace(/\/+$/, '') || '/'
  const named = PAGES.find((one) => one.path === below)
  if (named !== undefined) return { page: named, id: '' }
  for (const one of PAGES.filter(({ path }) => path.endsWith('/:id'))) {
    const before = one.path.slice(0, -':id'.length)
    const rest = below.startsWith(before) ? below.slice(before.length) : ''
    if (/^[\w-]{1,100}$/.test(rest)) return { page: one, id: rest }
  }
  return null
}
