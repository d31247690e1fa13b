import type { Role } from '@plumbline/contract/app/roles'

/** Roles and what each may do. */
export const ROLE_CHOICES: readonly { readonly value: Role; readonly text: string }[] = [
  { value: 'viewer', text: 'Viewer: looks' },
  { value: 'member', text: 'Member: keys and batches' },
  { value: 'owner', text: 'Owner: everything' },
]

/** The role that a choice stands for. */
export function roleOf(value: string): Role {
  return ROLE_CHOICES.find((choice) => choice.value === value)?.value ?? 'viewer'
}
