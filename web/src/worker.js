// The service worker: the portal's own files, for when there is no network. It never touches replies about people.
// `npm run build` puts the version and the list of files in.
const { version, files } = __SHELL__
const name = `chiron.shell.${version}`

addEventListener('install', (event) => {
  const fill = async () => {
    const cache = await caches.open(name)
    await cache.addAll(['/', ...files])
    await skipWaiting()
  }
  event.waitUntil(fill())
})

addEventListener('activate', (event) => {
  const tidy = async () => {
    const old = (await caches.keys()).filter((each) => each.startsWith('chiron.shell.') && each !== name)
    await Promise.all(old.map((each) => caches.delete(each)))
    await clients.claim()
  }
  event.waitUntil(tidy())
})

addEventListener('fetch', (event) => {
  const { request } = event
  const { origin, pathname } = new URL(request.url)
  if (request.method !== 'GET' || origin !== location.origin) return
  if (request.mode === 'navigate' && pathname === '/') event.respondWith(page(request))
  // Their names change with their content, so what is kept is never out of date.
  else if (files.includes(pathname)) event.respondWith(kept(request))
})

// Always the newest page if there is a network, so that an update shows at once.
async function page(request) {
  const stored = () => caches.match('/', { cacheName: name })
  try {
    const reply = await fetch(request)
    return reply.status < 500 ? reply : ((await stored()) ?? reply)
  } catch (error) {
    const found = await stored()
    if (found) return found
    throw error
  }
}

async function kept(request) {
  return (await caches.match(request, { cacheName: name })) ?? fetch(request)
}
