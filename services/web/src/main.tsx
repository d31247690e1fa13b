import { QueryClientProvider } from '@tanstack/preact-query'
import { render } from 'preact'
import { LocationProvider } from 'preact-iso'
import { createQueries } from './api/queries.ts'
import { App } from './app.tsx'
import { Announcer } from './components/announcer.tsx'
import { loadPage } from './loaded.tsx'
import { pageOf } from './routes.ts'

// Its code comes while it is asked who is signed in; where it is lost, the page itself asks again.
const opened = pageOf(location.pathname)
if (opened !== null) void loadPage(opened.page).catch(() => undefined)

const root = document.querySelector('#app')
if (root !== null) {
  render(
    <QueryClientProvider client={createQueries()}>
      <LocationProvider scope="/app">
        <Announcer>
          <App />
        </Announcer>
      </LocationProvider>
    </QueryClientProvider>,
    root,
  )
}
