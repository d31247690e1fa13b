import type { InstallationKey } from '@plumbline/pipeline/installation-key'

/** Encrypts an endpoint's secret for the database; it can be decrypted for that endpoint alone. */
export function encryptSecret(key: InstallationKey, endpointId: string, secret: string): string {
  return key.encrypt(secret, webhookSecretName(endpointId))
}

/** @throws if the text was encrypted under another key, or for another endpoint */
export function decryptSecret(key: InstallationKey, endpointId: string, hidden: string): string {
  const secret = key.decrypt(hidden, webhookSecretName(endpointId))
  if (secret === undefined) throw new Error(`the secret of ${endpointId} cannot be read`)
  return secret
}

/** Associated data under which an endpoint's secret is encrypted. */
export function webhookSecretName(endpointId: string): string {
  return `webhook secret ${endpointId}`
}
