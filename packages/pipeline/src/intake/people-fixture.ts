/** Names, streets and cities as customer lists hold them, by language, each with the encodings of its files. */
export const PEOPLE: readonly {
  readonly language: string
  readonly encodings: readonly string[]
  readonly cells: readonly string[]
}[] = [
  {
    language: 'German',
    encodings: ['windows-1252', 'macintosh', 'ibm850'],
    cells: ['Jürgen Müller', 'Königstraße 12', 'Düsseldorf', 'Käthe Schäfer', 'Würzburg', 'Björn Weiß', 'Göttingen', 'Bäckerei Groß & Söhne', 'Große Bleichen 8', 'Zürich'],
  },
  {
    language: 'French',
    encodings: ['windows-1252', 'macintosh', 'ibm850'],
    cells: ['François Lefèvre', 'Hélène Dupré', '12, rue de la République', 'Besançon', 'Saint-Étienne', 'Benoît Gérard', 'Allée des Chênes', 'Société Générale d’Électricité', 'Nîmes', 'Cédric Grégoire'],
  },
  {
    language: 'Spanish',
    encodings: ['windows-1252', 'macintosh', 'ibm850'],
    cells: ['José Núñez', 'María Muñoz', 'Calle Peñón 3', 'León', 'Íñigo Ibáñez', 'Begoña Rodríguez', 'A Coruña', 'Avenida de América', 'Málaga', 'Jesús Martín'],
  },
  {
    language: 'Portuguese',
    encodings: ['windows-1252', 'macintosh', 'ibm850'],
    cells: ['João Magalhães', 'São Paulo', 'Rua da Conceição', 'Antônio Gonçalves', 'Brasília', 'Luís Simões', 'Guimarães', 'Avenida Três de Março', 'Inês Brandão', 'Florianópolis'],
  },
  {
    language: 'Italian',
    encodings: ['windows-1252', 'macintosh'],
    cells: ['Niccolò Fantò', 'Forlì', 'Via Libertà 5', 'Cefalù', 'Cantù', 'Società Agricola', 'Viale Università', 'Città di Castello', 'Nicolò Mancò', 'Via Vittorio Veneto, là'],
  },
  {
    language: 'Swedish',
    encodings: ['windows-1252', 'macintosh', 'ibm850'],
    cells: ['Åsa Sjöberg', 'Göteborg', 'Malmö', 'Kungsgatan på höjden', 'Björn Åkerström', 'Örebro', 'Västerås', 'Jönköping', 'Märta Nyström', 'Södermalm'],
  },
  {
    language: 'Danish',
    encodings: ['windows-1252', 'macintosh', 'ibm850'],
    cells: ['Søren Kjær', 'Ærøskøbing', 'Nørrebrogade 12', 'Århus', 'Jørgen Ørsted', 'Bjørn Sørensen', 'Helsingør', 'Lærke Østergaard', 'Vejlevej på Fanø', 'Kærby'],
  },
  {
    language: 'Norwegian',
    encodings: ['windows-1252', 'macintosh'],
    cells: ['Øystein Bråthen', 'Tromsø', 'Ålesund', 'Bjørg Sæther', 'Håkon Nygård', 'Bodø', 'Storgata på Lillehammer', 'Kåre Grønli', 'Åse Hætta', 'Ørland'],
  },
  {
    language: 'Finnish',
    encodings: ['windows-1252', 'macintosh'],
    cells: ['Väinö Mäkelä', 'Jyväskylä', 'Hämeenkatu 4', 'Päivi Hämäläinen', 'Seinäjoki', 'Töölö', 'Yrjö Järvinen', 'Hyvinkää', 'Kärkkäinen', 'Äänekoski'],
  },
  {
    language: 'Icelandic',
    encodings: ['windows-1252'],
    cells: ['Guðrún Jónsdóttir', 'Reykjavík', 'Þórður Sigurðsson', 'Hafnarfjörður', 'Ólafur Ragnarsson', 'Björk Guðmundsdóttir', 'Akureyri, Þingvallastræti', 'Kópavogur', 'Ísafjörður', 'Sæunn Þórisdóttir'],
  },
  {
    language: 'Dutch',
    encodings: ['windows-1252', 'macintosh'],
    cells: ['Zoë van den Berg', 'Daniël Visser', 'Coördinator', 'Reünie', 'Loïs Brontë', 'België', 'Noël Jansen', 'Chloë de Vries', 'Faraïlde', 'Michaël'],
  },
  {
    language: 'Polish',
    encodings: ['windows-1250', 'iso-8859-2', 'ibm852'],
    cells: ['Łukasz Wójcik', 'Świętokrzyska 14', 'Małgorzata Wiśniewska', 'Kraków', 'Gdańsk', 'Zbigniew Żak', 'Łódź', 'Krzysztof Dąbrowski', 'Bielsko-Biała', 'Agnieszka Jabłońska'],
  },
  {
    language: 'Czech',
    encodings: ['windows-1250', 'iso-8859-2', 'ibm852'],
    cells: ['Jiří Dvořák', 'Plzeň', 'Tomáš Novák', 'Hradec Králové', 'Václavské náměstí', 'Lucie Černá', 'Ondřej Růžička', 'České Budějovice', 'Kateřina Němcová', 'Žižkov'],
  },
  {
    language: 'Slovak',
    encodings: ['windows-1250', 'iso-8859-2'],
    cells: ['Ľudovít Štúr', 'Košice', 'Žilina', 'Peter Kováč', 'Nové Mesto nad Váhom', 'Zuzana Šimková', 'Trenčín', 'Hlavná ulica', 'Ján Ďurica', 'Trnávka'],
  },
  {
    language: 'Hungarian',
    encodings: ['windows-1250', 'iso-8859-2'],
    cells: ['Győző Szűcs', 'Győr', 'Erzsébet Szőke', 'Székesfehérvár', 'Ferenc Gyurcsány', 'Kőbánya', 'Petőfi Sándor utca', 'Hódmezővásárhely', 'Zsófia Erdős', 'Nyíregyháza'],
  },
  {
    language: 'Croatian',
    encodings: ['windows-1250', 'iso-8859-2'],
    cells: ['Željko Božić', 'Šibenik', 'Ivana Kovačević', 'Đorđe Jurić', 'Poreč', 'Marija Šimić', 'Trg bana Jelačića', 'Čakovec', 'Požega', 'Luka Perišić'],
  },
  {
    language: 'Romanian',
    encodings: ['windows-1250', 'iso-8859-2'],
    cells: ['Ştefan Ionescu', 'Iaşi', 'Braşov', 'Bucureşti', 'Mădălina Pîrvu', 'Timişoara', 'Strada Mihai Viteazu, Constanţa', 'Cătălin Dănilă', 'Târgu Mureş', 'Gheorghe Ţurcan'],
  },
  {
    language: 'Russian',
    encodings: ['windows-1251', 'koi8-r', 'ibm866', 'iso-8859-5', 'maccyrillic'],
    cells: ['Иван Петров', 'Екатеринбург', 'ул. Ленина, д. 5', 'Анна Кузнецова', 'Нижний Новгород', 'Сергей Щербаков', 'Проспект Мира', 'ООО «Ромашка»', 'Юлия Воробьёва', 'Казань'],
  },
  {
    language: 'Ukrainian',
    encodings: ['windows-1251', 'koi8-u'],
    cells: ['Олексій Шевченко', 'Київ', 'Львів', 'вул. Хрещатик', 'Наталія Коваленко', 'Ївга Бондаренко', 'Запоріжжя', 'Дніпро', 'Євген Лисенко', 'Чернігів'],
  },
  {
    language: 'Bulgarian',
    encodings: ['windows-1251'],
    cells: ['Георги Иванов', 'София', 'Пловдив', 'бул. Витоша', 'Мария Димитрова', 'Велико Търново', 'Стоян Ангелов', 'Бургас', 'Цветелина Петкова', 'Русе'],
  },
  {
    language: 'Greek',
    encodings: ['windows-1253', 'iso-8859-7', 'ibm737'],
    cells: ['Γιώργος Παπαδόπουλος', 'Θεσσαλονίκη', 'Λεωφόρος Κηφισίας', 'Μαρία Νικολάου', 'Αθήνα', 'Ελένη Κωνσταντίνου', 'Πάτρα', 'Ηράκλειο', 'Δημήτρης Αλεξίου', 'Οδός Ερμού'],
  },
  {
    language: 'Turkish',
    encodings: ['windows-1254', 'iso-8859-9', 'ibm857'],
    cells: ['Ayşe Yılmaz', 'İstanbul', 'Beşiktaş', 'Mustafa Çağlar', 'Eskişehir', 'Gülşen Öztürk', 'Atatürk Bulvarı', 'Diyarbakır', 'Oğuz Kılıç', 'Şanlıurfa'],
  },
  {
    language: 'Hebrew',
    encodings: ['windows-1255', 'iso-8859-8'],
    cells: ['דוד כהן', 'תל אביב', 'רחוב הרצל', 'ירושלים', 'שרה לוי', 'משה מזרחי', 'חיפה', 'באר שבע', 'רחל פרץ', 'שדרות רוטשילד'],
  },
  {
    language: 'Arabic',
    encodings: ['windows-1256', 'iso-8859-6'],
    cells: ['محمد أحمد', 'القاهرة', 'شارع الملك فهد', 'الرياض', 'فاطمة الزهراء', 'عبد الله بن سعيد', 'دمشق', 'خالد إبراهيم', 'الإسكندرية', 'نور الدين'],
  },
  {
    language: 'Lithuanian',
    encodings: ['windows-1257', 'iso-8859-13'],
    cells: ['Žydrūnas Šimkus', 'Šiauliai', 'Panevėžys', 'Gedimino prospektą', 'Rūta Kazlauskaitė', 'Jonas Žukauskas', 'Klaipėda', 'Eglė Petrauskienė', 'Mažeikiai', 'Giedrė Šaltytė'],
  },
  {
    language: 'Latvian',
    encodings: ['windows-1257', 'iso-8859-13'],
    cells: ['Jānis Bērziņš', 'Rīga', 'Jūrmala', 'Brīvības iela', 'Līga Kalniņa', 'Rēzekne', 'Andris Ozoliņš', 'Daugavpils, Cēsis', 'Kārlis Šķēle', 'Ķekava'],
  },
  {
    language: 'Estonian',
    encodings: ['windows-1257'],
    cells: ['Jüri Põld', 'Pärnu', 'Tõnu Õunapuu', 'Võru', 'Põltsamaa', 'Kärt Mägi', 'Jõhvi', 'Hõbe tänav', 'Külli Sõber', 'Šveits'],
  },
  {
    language: 'Vietnamese',
    encodings: ['windows-1258'],
    cells: ['Nguyễn Văn Hùng', 'Trần Thị Hương', 'Hà Nội', 'Thành phố Hồ Chí Minh', 'Đà Nẵng', 'Lê Quốc Việt', 'Đường Lê Lợi', 'Phạm Ngọc Ánh', 'Quận Ba Đình', 'Hải Phòng'],
  },
  {
    language: 'Thai',
    encodings: ['windows-874'],
    cells: ['สมชาย ใจดี', 'กรุงเทพมหานคร', 'ถนนสุขุมวิท', 'เชียงใหม่', 'วิไลวรรณ ศรีสุข', 'ภูเก็ต', 'นครราชสีมา', 'ประเสริฐ แก้วมณี', 'ขอนแก่น', 'สุดารัตน์'],
  },
  {
    language: 'Japanese',
    encodings: ['shift_jis', 'euc-jp'],
    cells: ['山田太郎', '東京都新宿区西新宿', '株式会社あおぞら', '鈴木花子', '大阪市北区梅田', 'さくらマンション', '中村健太', '福岡県博多区', 'ヤマモト商店', '渡辺恵美'],
  },
  {
    language: 'Chinese, simplified',
    encodings: ['gb18030'],
    cells: ['张伟', '北京市朝阳区建国路', '上海浦东新区', '李秀英', '深圳市腾飞科技有限公司', '刘洋', '广州市天河区', '欧阳娜娜', '陈晓明', '杭州西湖大道'],
  },
  {
    language: 'Chinese, traditional',
    encodings: ['big5'],
    cells: ['陳志明', '台北市信義區松仁路', '王美玲', '高雄市前鎮區', '林怡君', '新竹科學園區', '黃俊傑', '宏達電子股份有限公司', '張雅婷', '桃園市中壢區'],
  },
  {
    language: 'Korean',
    encodings: ['euc-kr'],
    cells: ['김민수', '서울특별시 강남구', '이영희', '부산광역시 해운대구', '박지훈', '주식회사 한빛', '최은정', '경기도 성남시 분당구', '정현우', '대전시 유성구'],
  },
]
