// Shows the first form, which index.html has as a template for each language, before the portal itself has arrived. Not
// on other pages, and not for somebody who is signed in. Knows the keys of device.ts.
;(() => {
  const { documentElement: root } = document
  let kept = {}
  try {
    kept = localStorage
  } catch {}
  const templates = [...document.querySelectorAll('template')]
  const wishes = [kept['chiron.language'], ...navigator.languages.map((tag) => tag.split('-')[0]), 'en']
  root.lang = wishes.find((wish) => templates.some(({ lang }) => lang === wish))
  const isStart = location.pathname === '/' && /^(#\/?)?$/.test(location.hash) && !kept['chiron.signed-in']
  const form = templates.find(({ lang }) => lang === root.lang)
  if (isStart) document.currentScript.before(form.content.cloneNode(true))
})()
