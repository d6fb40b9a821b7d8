// Shows the first form, which index.html has as a template for each language, before the portal itself has arrived. Not
// on other pages, not for somebody who is signed in, and not while a code waits to be entered. Knows the keys of device.ts and the mark of shared-computer.ts.
;(() => {
  const { documentElement: root } = document
  let kept = {}
  try {
    kept = { ...localStorage, ...sessionStorage }
  } catch {}
  const templates = [...document.querySelectorAll('template')]
  const wishes = [kept['chiron.language'], ...navigator.languages.map((tag) => tag.split('-')[0]), 'en']
  root.lang = wishes.find((wish) => templates.some(({ lang }) => lang === wish))
  const isStart =
    location.pathname === '/' &&
    /^(#\/?)?$/.test(location.hash) &&
    !kept['chiron.signed-in'] &&
    !kept['chiron.waiting']
  const form = templates.find(({ lang }) => lang === root.lang)
  if (!isStart) return
  document.currentScript.before(form.content.cloneNode(true))
  document.querySelector('[name=shared]').checked = /chiron_shared=1/.test(document.cookie)
})()
