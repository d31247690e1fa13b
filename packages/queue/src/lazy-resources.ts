/** Resources that are opened on first use, shared, and closed together. */
export interface LazyResources<Key, Resource> extends AsyncDisposable {
  /** The resource of a key; if it could not be opened, the next call tries again. */
  get(key: Key): Promise<Resource>
}

/** Opens a resource with `open` when its key is first requested. */
export function createLazyResources<Key, Resource extends AsyncDisposable>(
  open: (key: Key) => Promise<Resource>,
): LazyResources<Key, Resource> {
  const resources = new Map<Key, Promise<Resource>>()
  return {
    get(key) {
      const opened = resources.get(key)
      if (opened !== undefined) return opened
      const opening = open(key)
      resources.set(key, opening)
      opening.catch(() => resources.delete(key))
      return opening
    },
    async [Symbol.asyncDispose]() {
      for (const opened of await Promise.allSettled(resources.values())) {
        if (opened.status === 'fulfilled') await opened.value[Symbol.asyncDispose]()
      }
      resources.clear()
    },
  }
}
