/** Names in several languages and scripts. A given name goes with a family name of the same language. */
const language = (given: string, family: string) => ({ given: given.split(' '), family: family.split(', ') })

export const languages = [
  language('Emily Jack Amelia George Freya', "Smith, Hughes, O'Brien, MacDonald, Baker-Jones"),
  language('Chloé Émile Zoé Raphaël François', 'Lefèvre, Garçon, Bérenger, De La Tour, Noël'),
  language('Lucía Álvaro Íñigo Begoña José', 'Fernández, Muñoz, Rodríguez López, Peña, Ríos'),
  language('Jürgen Björn Käthe Grete Günther', 'Müller, Weiß, Groß, Jäger, von der Heide'),
  language('Łukasz Małgorzata Paweł Jędrzej Bożena', 'Wójcik, Zieliński, Dąbrowska, Żak, Król'),
  language('Søren Åsa Bjørn Øystein Håkon', 'Sørensen, Åkesson, Ødegård, Þórsson, Sæther'),
  language('Çağla Ömer Ayşe İbrahim Şirin', 'Yılmaz, Şahin, Çelik, Işık, Kılıç'),
  language('Thảo Hương Đức Ngọc Dũng', 'Nguyễn, Trần, Phạm, Đặng, Đỗ'),
  language('Chidi Ngozi Kwame Nomvula Wanjiru', "Okafor, Dlamini, Adeyemi, N'Diaye, Chukwu"),
  language('Priya Arjun Ananya Vikram Lakshmi', 'Sharma, Iyer, Banerjee, Nair, Venkataraman'),
  language('美咲 翔太 陽菜 結衣 さくら', '佐藤, 鈴木, 高橋, 田中, 渡辺'),
  language('Ελένη Γιώργος Δημήτρης', 'Παπαδόπουλος, Γεωργίου, Νικολάου'),
  language('ليلى أحمد فاطمة', 'حداد, المصري, خليل'),
]
