import type { HlrAccount } from './provider.ts'
import { HLR_PROVIDERS, type HlrProviderName } from '@plumbline/ports/provider-status'

/** Settings of HLR providers. */
export interface HlrAccountSettings {
  /** In order of preference. */
  readonly providers: readonly string[]
  /** One value for each provider, comma-separated; not split if there is one provider. */
  readonly urls: string | undefined
  readonly keys: string | undefined
  readonly secrets: string | undefined
}

/** The accounts of the settings. @throws if a name is unknown or a key is missing */
export function readHlrAccounts(
  settings: HlrAccountSettings,
): readonly (HlrAccount & { readonly name: HlrProviderName })[] {
  const { providers } = settings
  // With one provider a value is not split: keys may contain commas.
  const each = (value: string | undefined): readonly string[] =>
    value === undefined ? [] : providers.length === 1 ? [value] : value.split(',')
  const [urls, keys, secrets] = [settings.urls, settings.keys, settings.secrets].map(each)
  return providers.map((asked, at) => {
    const name = HLR_PROVIDERS.find((known) => known === asked)
    const key = keys?.[at]
    if (name === undefined) {
      throw new Error(`HLR_PROVIDER: "${asked}" is none of ${HLR_PROVIDERS.join(', ')}`)
    }
    if (key === undefined || key === '') throw new Error(`HLR_KEY: no value for ${name}`)
    return { name, url: urls?.[at] || null, key, secret: secrets?.[at] || null }
  })
}
