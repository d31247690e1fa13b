import { QueryClientProvider } from '@tanstack/preact-query'
import { render } from 'preact'
import { LocationProvider } from 'preact-iso'
import { createQueries } from './api/queries.ts'
import { App } from './app.tsx'
import { Announcer } from './components/announcer.tsx'

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
