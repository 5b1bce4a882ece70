"""What synthetic tasks are about: things that a picture may show, and facts that a tool may be asked for."""

from __future__ import annotations

from itertools import product

# name, latitude, longitude
CITIES = (
    ("Newark", 40.7357, -74.1724), ("Tokyo", 35.6895, 139.6917), ("Lisbon", 38.7223, -9.1393),
    ("Nairobi", -1.2921, 36.8219), ("Lima", -12.0464, -77.0428), ("Oslo", 59.9139, 10.7522),
    ("Cairo", 30.0444, 31.2357), ("Sydney", -33.8688, 151.2093), ("Toronto", 43.6532, -79.3832),
    ("Vienna", 48.2082, 16.3738), ("Seoul", 37.5665, 126.978), ("Athens", 37.9838, 23.7275),
    ("Denver", 39.7392, -104.9903), ("Kyoto", 35.0116, 135.7681), ("Dublin", 53.3498, -6.2603),
    ("Hanoi", 21.0278, 105.8342), ("Bogota", 4.711, -74.0721), ("Helsinki", 60.1699, 24.9384),
    ("Mumbai", 19.076, 72.8777), ("Chicago", 41.8781, -87.6298), ("Zurich", 47.3769, 8.5417),
    ("Santiago", -33.4489, -70.6693), ("Austin", 30.2672, -97.7431), ("Prague", 50.0755, 14.4378),
)  # fmt: skip


def _words(listed: str) -> tuple[str, ...]:
    return tuple(listed.split(","))


def _pairs(first: str, second: str) -> tuple[str, ...]:
    return tuple(f"{one} {other}" for one, other in product(first.split(","), second.split(",")))


POOLS: dict[str, tuple[str, ...]] = {
    "product": tuple(
        f"{brand} {kind}"
        for brand, kind in product(
            ("Alder Hill", "Brightwell", "Corvo", "Dunmore", "Estrella", "Fjordly"),
            (
                "lemon sparkling water 12 oz can", "dark roast ground coffee bag", "lavender liquid laundry detergent",
                "sea salt potato chips party size", "double chocolate sandwich cookies", "stainless steel water bottle",
                "mint toothpaste with fluoride", "wireless ergonomic computer mouse",
            ),
        )
    ),
    "landmark": _pairs(
        "Old,Royal,Northern,Harbour,Saint Anne's", "Cathedral,Bridge,Palace,Lighthouse,Opera House,Tower"
    ),
    "movie": _pairs("Silent,Crimson,Last,Paper,Electric,Midnight", "Harvest,Voyage,Kingdom,Orchard,Signal,Parade"),
    "animal": _words(
        "bald eagle,golden eagle,red fox,grey wolf,snow leopard,giant panda,sea otter,barn owl,moose,lynx,"
        "giraffe,zebra,hippopotamus,emperor penguin,puffin,badger,hedgehog,bison,orangutan,koala,kangaroo,"
        "walrus,flamingo,tapir"
    ),
    "park": _pairs("Granite,Juniper,Heron,Copper,Cedar", "Canyon,Lake,Ridge,Valley,Falls"),
    "fish": _words(
        "largemouth bass,rainbow trout,striped bass,bluegill,northern pike,walleye,channel catfish,carp,"
        "yellow perch,muskellunge,brown trout,black crappie"
    ),
    "drug": _words(
        "ibuprofen,metformin,atorvastatin,amoxicillin,lisinopril,omeprazole,sertraline,levothyroxine,"
        "albuterol,prednisone,gabapentin,warfarin,cetirizine,doxycycline,naproxen,losartan"
    ),
    "illness": _words(
        "migraine,type 2 diabetes,hypertension,asthma,sinusitis,gastric reflux,depression,hypothyroidism,"
        "eczema,epilepsy,arthritis,bronchitis,gout,anaemia"
    ),
    "hazard": _words(
        "exposed rebar,open trench,missing guardrail,loose cable,unsecured ladder,blocked exit,wet floor,"
        "overloaded scaffold,missing helmet,gas cylinder,broken handrail,unmarked hole"
    ),
    "food": _words(
        "ramen,shakshuka,paella,pierogi,bibimbap,ceviche,falafel,gnocchi,moussaka,poutine,tamales,laksa,"
        "goulash,okonomiyaki,jollof rice,empanadas,risotto,pho,kimchi,borscht"
    ),
    "fruit": _words(
        "apple,banana,mango,papaya,kiwi,pear,peach,cherry,grape,pineapple,plum,apricot,lychee,fig,guava,"
        "watermelon"
    ),
    "artefact": _pairs("bronze,marble,lacquer,ivory,terracotta", "amphora,mirror,mask,figurine,casket,helmet"),
    "station": _pairs("Halley,Vostok,Amundsen,Dome,Concordia", "field camp,research base,observatory,weather station"),
    "object": _words(
        "bicycle,umbrella,traffic light,suitcase,fire hydrant,bench,piano,refrigerator,skateboard,telescope,"
        "canoe,lawn mower,typewriter,wheelbarrow,accordion,tractor"
    ),
    "topic": _pairs("renewable,urban,medieval,coastal,digital", "energy,farming,trade,migration,music,architecture"),
    "coin": _words("BTC,ETH,SOL,XRP,ADA,DOGE,LTC,DOT,AVAX,LINK,TRX,ATOM"),
    "ticker": _words("AAPL,TSLA,MSFT,NVDA,AMZN,KO,PEP,WMT,BA,JPM,XOM,NKE,SBUX,ORCL,INTC,DIS"),
    "car": _pairs("Fiat,Volkswagen,Chevrolet,Toyota,Renault", "Argo,Polo,Onix,Corolla,Kwid,Strada"),
    "package": _words(
        "ripgrep,ffmpeg,neovim,htop,blender,gimp,inkscape,postgresql,redis,nginx,pandoc,graphviz,imagemagick,"
        "tmux,zsh,jq,fzf,bat"
    ),
}  # fmt: skip
