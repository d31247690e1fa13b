import type { ComponentType, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Button } from './components/button.tsx'
import { Skeleton, Notice, Page } from './components/page.tsx'
import type { PageProps } from './page-props.ts'
import type { PageRoute } from './routes.ts'

/** Loaded pages, by path. */
const LOADED = new Map<string, ComponentType<PageProps>>()

/** A page, with its heading shown until its code is loaded. */
export function Loaded({
  page,
  id,
}: {
  readonly page: PageRoute
  readonly id: string
}): JSX.Element {
  const [, setTick] = useState(0)
  const [isLost, setLost] = useState(false)
  const Content = LOADED.get(page.path)
  useEffect(() => {
    // What was drawn counts, not what is there by now: its code may have come between the two.
    if (Content !== undefined) return undefined
    let isHere = true
    loadPage(page).then(
      () => isHere && setTick((tick) => tick + 1),
      () => isHere && setLost(true),
    )
    return () => {
      isHere = false
    }
  }, [page])
  if (Content !== undefined) return <Content key={id} id={id} />
  return (
    <Page title={page.title}>
      {isLost ? (
        <Notice tone="bad" actions={<Button onClick={() => location.reload()}>Reload</Button>}>
          This page could not be loaded: the service was unreachable, or was updated. Reload to
          continue.
        </Notice>
      ) : (
        <Skeleton rows={6} />
      )}
    </Page>
  )
}

/** Loads the code of a page in advance. */
export async function loadPage(page: PageRoute): Promise<void> {
  if (!LOADED.has(page.path)) LOADED.set(page.path, await page.load())
}
