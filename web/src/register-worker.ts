/**
 * Starts the service worker, which shows the portal without a network. Only after sign-in: a visitor of the first page
 * needs none. The page's policy admits one Trusted Types policy of this name, which yields one address whatever it is
 * given, and it is taken here before anything else could.
 */
const address = '/worker.js'
const policy = window.trustedTypes?.createPolicy('worker', { createScriptURL: () => address })

export function registerWorker(): void {
  if (!('serviceWorker' in navigator)) return
  navigator.serviceWorker.register(policy ? policy.createScriptURL('') : address).catch(() => {
    // A private window may refuse; the portal works without.
  })
}
