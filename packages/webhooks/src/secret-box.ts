import type { InstallationKey } from '@plumbline/pipeline/installation-key'

/** The secret of an endpoint as the database keeps it; it can be read for that endpoint alone. */
export function hideSecret(key: InstallationKey, endpointId: string, secret: string): string {
  return key.encrypt(secret, webhookSecretName(endpointId))
}

/** @throws if the text was hidden under another key, or for another endpoint */
export function readSecret(key: InstallationKey, endpointId: string, hidden: string): string {
  const secret = key.decrypt(hidden, webhookSecretName(endpointId))
  if (secret === undefined) throw new Error(`the secret of ${endpointId} cannot be read`)
  return secret
}

/** Name under which the secret of an endpoint is hidden. */
export function webhookSecretName(endpointId: string): string {
  return `webhook secret ${endpointId}`
}
