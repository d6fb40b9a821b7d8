/** Whether somebody is using the page: an idle screen must not keep its session alive by polling. */
const patienceMs = 10 * 60_000

let lastInputAt = Date.now()
for (const kind of ['pointerdown', 'keydown', 'wheel'])
  addEventListener(
    kind,
    () => {
      lastInputAt = Date.now()
    },
    { passive: true },
  )

export const isInUse = (): boolean =>
  document.visibilityState === 'visible' && Date.now() - lastInputAt < patienceMs
