import type { JSX } from 'preact'
import { Page } from '../components/page.tsx'
import { useMay } from '../session.tsx'
import { AccountSettings } from './settings/account.tsx'
import { DeleteAccount } from './settings/delete-account.tsx'
import { StoredData } from './settings/stored-data.tsx'
import { Members } from './settings/members.tsx'
import { Profile } from './settings/profile.tsx'
import { SecondFactor } from './settings/second-factor.tsx'
import { Sessions } from './settings/sessions.tsx'
import { Webhooks } from './settings/webhooks.tsx'

/** Settings of the account, its members, and the user's sign-in. */
export function Settings(): JSX.Element {
  const isOwner = useMay('owner')
  return (
    <Page title="Settings">
      <AccountSettings />
      <Members />
      <Webhooks />
      <Profile />
      <SecondFactor />
      <Sessions />
      <StoredData />
      {isOwner && <DeleteAccount />}
    </Page>
  )
}
